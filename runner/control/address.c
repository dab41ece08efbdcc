/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/control/address.h"

#include "runner/control/request.h"

#include <stdio.h>

socklen_t control_address(int state_dirfd, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
		       state_dirfd);
	return (socklen_t)sizeof(*ret);
}
