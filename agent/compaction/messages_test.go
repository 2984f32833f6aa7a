package compaction

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestALimitOfMessagesIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		err    string
	}{
		"shorten":        {Config{Policy: Shorten, Messages: 100}, "shorten cannot limit the number of messages"},
		"too few":        {Config{Policy: Drop, Messages: 19}, "too few, when the last 8 are kept"},
		"enough":         {Config{Policy: Drop, Messages: 20}, ""},
		"few are kept":   {Config{Policy: Drop, Messages: 6, Keep: -1}, ""},
		"and of tokens":  {Config{Policy: Drop, Messages: 40, Limit: 9}, ""},
		"many are kept":  {Config{Policy: Drop, Messages: 40, Keep: 20}, "allow 44"},
		"without either": {Config{Policy: Drop}, ""},
	} {
		_, err := New(c.config)
		text := ""
		if err != nil {
			text = err.Error() + " " + fault.HintOf(err)
		}
		if (err != nil) != (c.err != "") || !strings.Contains(text, c.err) || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a Usage fault with %q", name, err, c.err)
		}
	}
	if got, want := newPolicy(t, Config{Policy: Drop, Messages: 40, Limit: 9}).String(), "drop, over 40 messages or about 9 tokens"; got != want {
		t.Errorf("it is described as %q, want %q", got, want)
	}
}

// answered is a person's answer to a question.
func answered(id, words string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: id, Parts: llm.Say(words)}}}
}

func interrupted(words string) llm.Message {
	m := user(words)
	m.Extra = map[string]any{"interrupt_type": string(vocab.StatusUserInterruption)}
	return m
}

// turns is a conversation of several turns, 37 messages in all.
func turns() []llm.Message {
	list := []llm.Message{system("system"), user("the task")}
	id := 0
	step := func() {
		id++
		list = append(list, asks(fmt.Sprint(id)), result(fmt.Sprint(id), text(400)))
	}
	for range 4 {
		step()
	}
	list = append(list, user("and now the tests"), asks("q1", "b1"), answered("q1", "yes, do"), result("b1", text(9)))
	for range 4 {
		step()
	}
	list = append(list, interrupted("no, stop that"))
	for range 4 {
		step()
	}
	return append(list, asks("last"), result("last", text(3)), user("continue"), asks("more"), result("more", text(1)))[:36]
}

func words(messages []llm.Message) (list []string) {
	for _, m := range messages {
		if isSaid(m) {
			list = append(list, m.Text())
			for _, p := range m.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					list[len(list)-1] = llm.Message{Parts: r.Parts}.Text()
				}
			}
		}
	}
	return list
}

func TestWholeStepsAreDroppedWhereThereAreTooManyMessages(t *testing.T) {
	before := turns()
	p := newPolicy(t, Config{Policy: Drop, Messages: 30, Keep: 4})
	w, err := p.Rewrite(t.Context(), conversation(before))
	if err != nil || w == nil {
		t.Fatalf("%v, %v; want a rewriting", w, err)
	}
	sent := apply(before, w)
	if why := legal(sent); why != "" {
		t.Error(why)
	}
	if len(sent) > 16 {
		t.Errorf("%d messages are left, want about half of the limit of 30", len(sent))
	}
	if got, want := words(sent), words(before); !slices.Equal(got, want) || len(want) != 5 {
		t.Errorf("of the person's words %q are left, want all of %q", got, want)
	}
	if !strings.Contains(sent[2].Text(), fmt.Sprintf("%d messages were left out", len(before)-len(sent)+1)) {
		t.Errorf("in place of the steps is %q, want how many there were", sent[2].Text())
	}
	if again, err := p.Rewrite(t.Context(), conversation(before)); err != nil || !reflect.DeepEqual(again, w) {
		t.Errorf("the same conversation gives %v, %v; want the same again", again, err)
	}
	if none, err := p.Rewrite(t.Context(), conversation(sent)); err != nil || none != nil {
		t.Errorf("a short one gives %v, %v; want nothing", none, err)
	}
	longer := sent
	for i := range 10 {
		id := fmt.Sprint("new ", i)
		longer = append(longer[:len(longer):len(longer)], asks(id), result(id, text(5)))
	}
	w, err = p.Rewrite(t.Context(), conversation(longer))
	if err != nil || w == nil {
		t.Fatalf("%v, %v; want another rewriting", w, err)
	}
	lines := 0
	after := apply(longer, w)
	for _, m := range after {
		if isLine(m) {
			lines++
		}
	}
	if want := fmt.Sprintf("%d messages were left out", len(before)+20-len(after)+1); lines != 1 || !strings.Contains(after[2].Text(), want) {
		t.Errorf("there are %d lines, the first %q; want one with %q", lines, after[2].Text(), want)
	}
}

// A conversation of words alone has nothing to leave out but the answers.
func TestAConversationOfWordsIsShortened(t *testing.T) {
	messages := []llm.Message{system("system")}
	for i := range 20 {
		messages = append(messages, user(fmt.Sprint("question ", i)), llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(fmt.Sprint("answer ", i))})
	}
	w, err := newPolicy(t, Config{Policy: Drop, Messages: 20, Keep: 4}).Rewrite(t.Context(), conversation(messages))
	if err != nil || w == nil {
		t.Fatalf("%v, %v; want a rewriting", w, err)
	}
	if sent := apply(messages, w); !slices.Equal(words(sent), words(messages)) || len(sent) != 24 {
		t.Errorf("%d messages are left with the words %q, want 24 with all words", len(sent), words(sent))
	}
}

func TestAPersonMayAskForAShorterConversation(t *testing.T) {
	before := turns()
	for _, name := range Names {
		p := newPolicy(t, Config{Policy: name, Keep: 4})
		if w, err := p.Rewrite(t.Context(), conversation(before)); w != nil || err != nil {
			t.Errorf("%s: %v, %v; want nothing by itself", name, w, err)
		}
		w, err := p.Now(t.Context(), conversation(before))
		if err != nil || w == nil {
			t.Fatalf("%s: %v, %v; want a rewriting", name, w, err)
		}
		sent := conversation(apply(before, w))
		if tokens := conversation(before).Tokens; sent.Tokens > tokens*2/3 || legal(sent.Messages) != "" {
			t.Errorf("%s: %d tokens were %d (%s), want much less", name, sent.Tokens, tokens, legal(sent.Messages))
		}
		if !slices.Equal(words(sent.Messages), words(before)) {
			t.Errorf("%s: the words are %q, want %q", name, words(sent.Messages), words(before))
		}
	}
}
