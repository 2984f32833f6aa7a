package bash_test

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"batch.example/batch/internal/bash"
)

func run(t *testing.T, script string) []byte {
	t.Helper()
	cmd := exec.Command("bash", "-s") // a script over 128 KiB does not fit an argument
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
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
				t.Errorf("%d bytes came back as %d", len(data), len(got))
			}
		})
	}
}

func TestQuoteIsOneWord(t *testing.T) {
	for _, s := range []string{"", "a b", "it's", "$x `y` \\ \"", "new\nline", "*"} {
		if got := run(t, "printf %s "+bash.Quote(s)); string(got) != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
}
