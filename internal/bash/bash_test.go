package bash_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/bash"
)

func run(t *testing.T, script string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script") // text over 128 KiB does not fit in an argument
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("bash", file).CombinedOutput()
	if err != nil {
		t.Fatalf("bash: %v\n%.500s", err, out)
	}
	return out
}

func TestPrintWritesTheExactBytes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	noise := make([]byte, 2_000_000)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(noise)
	for name, data := range map[string][]byte{
		"nothing":            {},
		"every byte":         all,
		"octal look-alikes":  []byte("\x007\x0012\\0101\\n%s%%"),
		"quotes":             []byte(`it's "so" $HOME ` + "`id`"),
		"CRLF without end":   []byte("a\r\nb\r\nc"),
		"random megabytes":   noise,
		"one very long line": bytes.Repeat([]byte("x"), 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t, bash.Print(data)); !bytes.Equal(got, data) {
				t.Errorf("%d bytes were printed as %d other bytes", len(data), len(got))
			}
		})
	}
}

func TestQuoteIsOneWord(t *testing.T) {
	for _, s := range []string{"", "a b", "it's", "$x `y` \\ \"", "new\nline", "*"} {
		if got := run(t, "printf %s "+bash.Quote(s)); string(got) != s {
			t.Errorf("%q came back as %q; want %v", s, got, s)
		}
	}
}

func TestPrintsRespectsItsLimit(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":     {},
		"text":        bytes.Repeat([]byte("a line of text\n"), 1000),
		"empty lines": bytes.Repeat([]byte("\n"), 2000),
		"bytes":       bytes.Repeat([]byte{0xff}, 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			commands := bash.Prints(data, 5000)
			if len(data) > 5000 && len(commands) < 2 {
				t.Error("got one command for data over the limit, want several")
			}
			for _, c := range commands {
				if len(c) > 5000 {
					t.Errorf("a command of %d bytes, want c at most 5000", len(c))
				}
			}
			if got := run(t, strings.Join(commands, "\n")); !bytes.Equal(got, data) {
				t.Errorf("%d bytes were printed as %d other bytes", len(data), len(got))
			}
		})
	}
}

func TestPrintFitsInAFenceOrTag(t *testing.T) {
	if got := bash.Print([]byte("```\n</cmd>")); strings.ContainsAny(got, "`<") {
		t.Errorf("the command contains a backquote or <: %s", got)
	}
}
