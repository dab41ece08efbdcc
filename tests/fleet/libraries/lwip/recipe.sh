# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by ../build.sh
# lwIP: a TCP/IP stack, version 4 alone, that checks the checksums of what comes in.
sources='src/core/*.c src/core/ipv4/*.c src/netif/ethernet.c'
flags="-I$obj -I$src/src/include"

prepare() {
	mkdir "$obj/arch"
	cat >"$obj/arch/cc.h" <<-END
		#include <stdlib.h>
		#define LWIP_PLATFORM_DIAG(x)
		#define LWIP_PLATFORM_ASSERT(x) abort()
		#define LWIP_RAND() 4u
	END
	cat >"$obj/lwipopts.h" <<-END
		#define NO_SYS 1
		#define LWIP_NETCONN 0
		#define LWIP_SOCKET 0
		#define LWIP_TIMERS 0
		#define SYS_LIGHTWEIGHT_PROT 0
		#define LWIP_IGMP 1
		#define LWIP_WND_SCALE 1
		#define TCP_RCV_SCALE 2
		#define LWIP_TCP_SACK_OUT 1
		#define LWIP_TCP_TIMESTAMPS 1
		#define IP_REASSEMBLY 0
		#define MEM_LIBC_MALLOC 1
		#define MEMP_MEM_MALLOC 1
		#define TCP_MSS 1024
		#define TCP_SND_BUF (8 * TCP_MSS)
		#define TCP_WND (8 * TCP_MSS)
	END
}
