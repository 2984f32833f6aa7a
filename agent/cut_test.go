package agent

import (
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestElidedCharactersOfATruncatedOutputAreCounted(t *testing.T) {
	l := newLoop(t, func(c *Config) {
		c.Limits.Steps, c.ObservationTemplate = 1,
			"{{ output.output[:3] }} {{ output.output | length - 6 }} {{ output.output | count }} {{ output.output[-3:] }} {{ 'abé' | length }}"
	})
	bytes := []byte("éab" + strings.Repeat("é", 10) + "yz\xff")
	for total, want := range map[int64]string{
		int64(len(bytes)):        "éab 10 16 yz\ufffd 3",
		int64(len(bytes)) + 1000: "éab 1010 1016 yz\ufffd 3",
	} {
		e := &env{outputs: map[string]vocab.Output{"big": {Bytes: bytes, Total: total}}}
		end, err := l.Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{ask("1", "big")}}, Env: e})
		if err != nil {
			t.Fatal(err)
		}
		if got := end.Messages[3].Text(); got != want {
			t.Errorf("of %d bytes the model saw %q, want %q", total, got, want)
		}
	}
}
