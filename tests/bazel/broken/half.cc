// SPDX-License-Identifier: Apache-2.0
#ifndef MENDED
#error "this does not compile"
#endif
