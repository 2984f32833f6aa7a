package trajectory_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// The pages of any attempt have what its view has, at any time: with refused replies, several
// commands in a step, calls that failed, rewrites and resumes.
func TestPagesOfRandomAttemptsHaveWhatTheViewHas(t *testing.T) {
	r := sample.Rand(t)
	for range 12 {
		w := newWriter(t)
		w.rand = r
		w.begin(1)
		for range 10 {
			w.random()
			w.flush()
			same(t, w.dir, -1, mask.New(mask.Secret{Name: "WORD", Value: "module.py"}))
		}
		if t.Failed() {
			t.Logf("the journal is %s", w.path)
			return
		}
	}
}

// random records what may happen in a step.
func (w *writer) random() {
	n := w.rand.IntN(8)
	if n == 0 {
		w.ok(w.j.Resume(map[string]any{"owner": "o"}, 0.5, nil))
		w.add(journal.TypeContainer, journal.ContainerData{Container: "c"})
		if len(w.last) > 0 {
			w.add(journal.TypeMessages, journal.MessagesData{Messages: w.last}) // they are recorded again
		}
	}
	w.ask()
	switch n {
	case 1:
		w.add(journal.TypeLost, journal.LostData{Step: w.step + 1, Calls: 1, Cost: 0.25})
		w.add(journal.TypeInterrupt, journal.InterruptData{Step: w.step + 1, Name: "ModelError"})
		w.messages(encode(map[string]any{"role": "user", "content": w.text(20), "extra": map[string]any{"interrupt_type": "ModelError"}}))
		return
	case 2:
		w.refused()
		return
	}
	command := "ls " + w.text(10+w.rand.IntN(90))
	w.reply(w.text(w.rand.IntN(300)), command)
	if n == 3 {
		return
	}
	out := journal.OutputData{Output: vocab.Output{ExitCode: w.rand.IntN(3)}, Kept: []byte(w.text(w.rand.IntN(2000)))}
	if n == 4 {
		out.Kept = append(out.Kept, 0xff, 0, '\r')
		out.Total = int64(len(out.Kept)) + 1000
	}
	w.act(command, out)
	if n == 5 {
		w.messages(message("user", w.text(30)))
	}
}

// refused records a reply without a command.
func (w *writer) refused() {
	w.step++
	text := message("assistant", w.text(100))
	w.add(journal.TypeReply, journal.ReplyData{
		Step: w.step, Cost: 0.01, Message: text, Priced: w.rand.IntN(2) == 0,
		Response: encode(map[string]any{"choices": []any{map[string]any{"message": json.RawMessage(text)}}}),
	})
	w.add(journal.TypeInterrupt, journal.InterruptData{Step: w.step, Name: vocab.StatusFormatError})
	w.messages(encode(map[string]any{"role": "user", "content": fmt.Sprint("Wrong ", w.step), "extra": map[string]any{
		"interrupt_type": "FormatError", "cost": 0.01, "response": map[string]any{"step": w.step},
	}}))
}
