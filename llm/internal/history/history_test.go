package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// form writes each message as its text, with one item per part, after the model's name.
func form(model string) *history.Form {
	return &history.Form{
		Head: func(tools []llm.Tool, _ []llm.Message) ([]byte, error) {
			return fmt.Appendf(nil, `{"model":"%s","tools":%d,"head":"%s","list":[`, model, len(tools), strings.Repeat("h", 20<<10)), nil
		},
		Turn: func(messages []llm.Message, i int) (history.Turn, error) {
			t := history.Turn{Messages: 1}
			if messages[i].Role == llm.RoleExit {
				return t, errors.New("a role of our own")
			}
			for _, p := range messages[i].Parts {
				t.Items = append(t.Items, history.MustEncode(p.(llm.Text).Text))
			}
			return t, nil
		},
	}
}

func joined(b history.Body) string { return string(bytes.Join(b, nil)) + "]}" }

// A kept conversation that grows, and is truncated at any place, gives the same request as one that is
// encoded at once, whatever tools, models and failures came in between. Earlier requests do not change.
func TestAKeptConversationIsTheWholeOne(t *testing.T) {
	forms, random := []*history.Form{form("a"), form("b")}, rand.New(rand.NewPCG(1, 2))
	var memo llm.Memo
	var messages []llm.Message
	type request struct {
		body history.Body
		text string
	}
	var earlier []request
	for step := range 300 {
		if random.IntN(10) == 0 {
			messages = slices.Clone(messages[:random.IntN(len(messages)+1)])
		}
		for range random.IntN(4) {
			var parts []llm.Part
			for i := range random.IntN(3) {
				parts = append(parts, llm.Text{Text: fmt.Sprint(step, i, strings.Repeat("x", random.IntN(8<<10)))})
			}
			messages = append(messages, llm.Message{Role: llm.RoleUser, Parts: parts})
		}
		f, tools := forms[step/50%2], make([]llm.Tool, step/20%2)
		if step%7 == 0 {
			bad := append(slices.Clone(messages), llm.Message{Role: llm.RoleExit})
			_, err := f.Text(&llm.Request{Messages: bad, Tools: tools, Memo: &memo}, bad)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint("message ", len(messages))) {
				t.Fatalf("step %d: %v, want an error with the message's place", step, err)
			}
		}
		kept, err := f.Text(&llm.Request{Messages: messages, Tools: tools, Memo: &memo}, messages)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := f.Text(&llm.Request{Messages: messages, Tools: tools}, messages)
		if err != nil {
			t.Fatal(err)
		}
		if joined(kept) != joined(whole) || !json.Valid([]byte(joined(whole))) {
			t.Fatalf("step %d: the kept request of %d messages differs from the whole one", step, len(messages))
		}
		earlier = append(earlier, request{kept, joined(kept)})
	}
	for i, r := range earlier {
		if joined(r.body) != r.text {
			t.Fatalf("the request of step %d has changed", i)
		}
	}
}
