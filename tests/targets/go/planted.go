// SPDX-License-Identifier: Apache-2.0

// Package planted has the planted bugs of the Go targets: see planted_test.go.
package planted

// Sum adds the bytes behind the magic; it believes the length in front of them.
func Sum(b []byte) int {
	sum := 0
	if len(b) < 3 || b[0] != 'G' || b[1] != 'o' {
		return 0
	}
	for i := 0; i < int(b[2]); i++ {
		sum += int(b[3+i])
	}
	return sum
}

// Depth counts brackets.
func Depth(s string) int {
	depth, most := 0, 0
	for _, c := range s {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth > most {
			most = depth
		}
	}
	return most
}
