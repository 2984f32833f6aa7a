package session

import (
	"bytes"
	"log/slog"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// outputs is a store that only outputs are appended to.
type outputs struct {
	Store
	list []journal.OutputData
}

func (s *outputs) Append(_ string, data any) error {
	s.list = append(s.list, data.(journal.OutputData))
	return nil
}

func (s *outputs) Flush() error { return nil }

// The journal keeps 64 MiB of outputs. Of later ones it keeps the ends, and what the model
// was shown. A submission and a short output it keeps whole.
func TestTheEndsOfLaterOutputsAreKept(t *testing.T) {
	s := &outputs{}
	r := recorder{store: s, log: slog.New(slog.DiscardHandler), saving: func() func() { return func() {} }}
	large := bytes.Repeat([]byte("0123456789"), 2<<20)
	large[0], large[len(large)-1] = 'a', 'z'
	for i, c := range []struct {
		text  []byte
		shown string
		kept  int
	}{
		{large, "0", len(large)},
		{large, "0", len(large)},
		{large, "0", len(large)},
		{large, "0", 64 << 10},
		{large[:64<<10], "0", 64 << 10},
		{large, "", len(large)}, // a submission
		{large[:64<<10+1], "0", 64 << 10},
	} {
		o := vocab.Output{Bytes: c.text, Total: int64(len(c.text))}
		if err := r.output(agent.Event{Type: agent.EventOutput, Step: i + 1, Action: 1, Output: &o, Shown: c.shown}); err != nil {
			t.Fatal(err)
		}
		got, cut := s.list[i], c.kept < len(c.text)
		if len(got.Kept) != c.kept || (got.Shown == "0") != cut || got.Total != o.Total || got.SHA256 != Sum(c.text) {
			t.Errorf("output %d: %d of %d bytes are kept, shown %q; want %d bytes and the digest of all", i+1, len(got.Kept), got.Total, got.Shown, c.kept)
		}
		if !bytes.HasPrefix(c.text, got.Kept[:32<<10]) || !bytes.HasSuffix(c.text, got.Kept[len(got.Kept)-32<<10:]) {
			t.Errorf("output %d: what is kept is not its beginning and its end", i+1)
		}
	}
}
