/* SPDX-License-Identifier: Apache-2.0 */
/* Up to four Ethernet frames, each after a byte with its length, come in at a host with an
 * echo service over TCP and UDP.  ARP is open; IP, ICMP, UDP and TCP are behind checksums
 * of 16 bits. */
#include <lwip/etharp.h>
#include <lwip/igmp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/tcp.h>
#include <lwip/udp.h>
#include <netif/ethernet.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct netif card;

u32_t sys_now(void)
{
	return 0;
}

static err_t on_send(struct netif *n, struct pbuf *frame)
{
	(void)n;
	(void)frame;
	return ERR_OK;
}

static err_t on_up(struct netif *n)
{
	n->output = etharp_output;
	n->linkoutput = on_send;
	n->mtu = 1500;
	n->hwaddr_len = ETH_HWADDR_LEN;
	memset(n->hwaddr, 2, ETH_HWADDR_LEN);
	n->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET |
		   NETIF_FLAG_IGMP | NETIF_FLAG_LINK_UP;
	return ERR_OK;
}

static void on_datagram(void *user, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from,
			u16_t port)
{
	(void)user;
	(void)udp_sendto(pcb, p, from, port);
	pbuf_free(p);
}

static err_t on_data(void *user, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
	(void)user;
	(void)error;
	if (!p)
		return tcp_close(pcb);
	tcp_recved(pcb, p->tot_len);
	(void)tcp_write(pcb, p->payload, p->len, TCP_WRITE_FLAG_COPY);
	pbuf_free(p);
	return ERR_OK;
}

static err_t on_accept(void *user, struct tcp_pcb *pcb, err_t error)
{
	(void)user;
	if (error == ERR_OK)
		tcp_recv(pcb, on_data);
	return ERR_OK;
}

static void up(void)
{
	struct udp_pcb *udp;
	struct tcp_pcb *tcp;
	ip4_addr_t address, mask, gateway;

	IP4_ADDR(&address, 10, 0, 0, 1);
	IP4_ADDR(&mask, 255, 0, 0, 0);
	IP4_ADDR(&gateway, 10, 0, 0, 2);
	lwip_init();
	(void)netif_add(&card, &address, &mask, &gateway, NULL, on_up, ethernet_input);
	netif_set_default(&card);
	netif_set_up(&card);
	udp = udp_new();
	(void)udp_bind(udp, IP_ADDR_ANY, 7);
	udp_recv(udp, on_datagram, NULL);
	tcp = tcp_new();
	(void)tcp_bind(tcp, IP_ADDR_ANY, 7);
	tcp_accept(tcp_listen(tcp), on_accept);
}

/* As a card gives it: with 60 bytes at least. */
static void frame(const uint8_t *data, size_t size)
{
	static uint8_t padded[256];
	struct pbuf *p = pbuf_alloc(PBUF_RAW, size < 60 ? 60 : (u16_t)size, PBUF_RAM);

	if (!p)
		return;
	memset(padded, 0, 60);
	memcpy(padded, data, size);
	(void)pbuf_take(p, padded, p->tot_len);
	if (card.input(p, &card) != ERR_OK)
		pbuf_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!card.input)
		up();
	for (int i = 0; i < 4 && size > 1; i++) {
		size_t length = data[0] < size ? data[0] : size - 1;

		frame(data + 1, length);
		data += 1 + length;
		size -= 1 + length;
	}
	while (tcp_active_pcbs)
		tcp_abort(tcp_active_pcbs);
	while (tcp_tw_pcbs)
		tcp_abort(tcp_tw_pcbs);
	etharp_cleanup_netif(&card);
	return 0;
}
