package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// form writes each message as its text, with as many items as it has parts.
func form() *history.Form {
	return &history.Form{
		Head: func([]llm.Tool) ([]byte, error) {
			return []byte(`{"head":"` + strings.Repeat("h", 20<<10) + `","list":[`), nil
		},
		Items: func(msg llm.Message) (list []json.RawMessage, err error) {
			for _, p := range msg.Parts {
				list = append(list, history.MustEncode(p.(llm.Text).Text))
			}
			return list, nil
		},
	}
}

func joined(b history.Body) string { return string(bytes.Join(b, nil)) + "]}" }

// A kept conversation that grows, and is cut at any place, is the same request as one that is
// encoded at once. Earlier requests stay as they were.
func TestAKeptConversationIsTheWholeOne(t *testing.T) {
	f, random := form(), rand.New(rand.NewPCG(1, 2))
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
		kept, err := f.Text(&llm.Request{Messages: messages, Memo: &memo}, messages)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := f.Text(&llm.Request{Messages: messages}, messages)
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
