// SPDX-License-Identifier: Apache-2.0

package planted

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"
)

// FuzzHealthy reads a file of its package; nothing is wrong with it.
func FuzzHealthy(f *testing.F) {
	words, err := os.ReadFile("testdata/words")
	if err != nil {
		f.Fatal(err)
	}
	for _, w := range strings.Fields(string(words)) {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Depth(s) > len(s) {
			t.Error("deeper than long")
		}
	})
}

// FuzzCrash has an index that is too large.
func FuzzCrash(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) { Sum(b) })
}

// FuzzError fails without a panic.  An input in testdata/fuzz fails, too: a bug that is known.
func FuzzError(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string, n int) {
		if strings.HasPrefix(s, "E") {
			t.Errorf("began with %q %d", s, n)
		}
	})
}

// FuzzTimeout waits longer than an input may take.
func FuzzTimeout(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2 && s[0] == 'T' && s[1] == 'I' {
			time.Sleep(time.Hour)
		}
	})
}

var kept [][]byte

// FuzzMemory keeps memory until there is none.
func FuzzMemory(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) {
		for strings.HasPrefix(s, "M") {
			kept = append(kept, []byte(strings.Repeat("m", 1<<20)))
		}
	})
}

// FuzzForks starts processes until it may start no more.
func FuzzForks(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) {
		for strings.HasPrefix(s, "F") {
			_ = exec.Command("/bin/sleep", "60").Start()
		}
	})
}

// FuzzOutput prints without end beside the fuzzing.
func FuzzOutput(f *testing.F) {
	line := strings.Repeat("fuzz: elapsed: 3s, execs: 1 (1/sec) ", 30)
	go func() {
		for {
			fmt.Println(line)
		}
	}()
	f.Fuzz(func(t *testing.T, s string) { Depth(s) })
}

// FuzzStays heeds no signal, and does not end.
func FuzzStays(f *testing.F) {
	signal.Ignore()
	f.Fuzz(func(t *testing.T, s string) {
		for strings.HasPrefix(s, "S") {
		}
	})
}
