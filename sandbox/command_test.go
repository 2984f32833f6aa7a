package sandbox

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/box"
	"batch.example/batch/vocab"
)

func TestACommandHasNothingOfTheAgent(t *testing.T) {
	h, in := anyHost(t, func(c *Config) {
		c.Env, c.Interpreter, c.Timeout = []string{"AGENT=1"}, []string{"false"}, time.Second
		c.Container.Memory = 256 << 20
	})
	opened := h.open(t, Opening{Instance: in, Attempt: 1, Pristine: true})
	if err := opened.Write(t.Context(), "/tmp/x/y", 0o600, []byte("\x00a\n")); err != nil {
		t.Fatal(err)
	}
	out, err := opened.Run(t.Context(), vocab.Command{Script: "sleep 2; pwd; echo ${AGENT-none}; wc -c < /tmp/x/y"})
	if err != nil || string(out.Bytes) != "/testbed\nnone\n3\n" {
		t.Errorf("got %q, %v", out.Bytes, err)
	}
	out, err = opened.Run(t.Context(), vocab.Command{Script: "head -c 20M /dev/zero", Limit: 64 << 20})
	if want := max(256<<20/16, box.MaxOutput); err != nil || len(out.Bytes) != want || out.Total != 20<<20 {
		t.Errorf("kept %d of %d bytes, want %d, %v", len(out.Bytes), out.Total, want, err)
	}
	out, err = opened.Run(t.Context(), vocab.Command{Script: "pwd; sleep 60", Dir: "/tmp", Timeout: 3 * time.Second})
	if err != nil || !out.TimedOut || strings.TrimSpace(string(out.Bytes)) != "/tmp" {
		t.Errorf("got %q, timed out %v, %v", out.Bytes, out.TimedOut, err)
	}
}

func TestAFileIsAsLargeAsTheDiskAllows(t *testing.T) {
	h, in := anyHost(t, func(*Config) {})
	opened := h.open(t, Opening{Instance: in, Attempt: 1, Pristine: true})
	data := make([]byte, 2*box.CopyInLimit+1)
	_, _ = rand.Read(data)
	const name = "/tmp/a b/it's"
	if err := opened.Write(t.Context(), name, 0o640, data); err != nil {
		t.Fatal(err)
	}
	out, err := opened.Run(t.Context(), vocab.Command{Script: `cat "/tmp/a b/it's"`, Limit: int64(len(data))})
	if err != nil || !bytes.Equal(out.Bytes, data) {
		t.Errorf("%d of %d bytes came back, %v", len(out.Bytes), len(data), err)
	}
	out, err = opened.Run(t.Context(), vocab.Command{Script: "echo *; ls -l", Dir: "/tmp/a b"})
	if err != nil || !strings.HasPrefix(string(out.Bytes), "it's\n") || !strings.Contains(string(out.Bytes), "-rw-r-----") {
		t.Errorf("got %q, %v", out.Bytes, err)
	}
}
