package trajectory_test

import (
	"testing"

	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// A reply that is not in the conversation is read in its provider's form.
func TestARefusedReplyIsShownInEachProtocol(t *testing.T) {
	for name, response := range map[string]string{
		"chat completions": `{"choices":[{"message":{"role":"assistant","content":"I look.","reasoning_content":"Hm.",
			"tool_calls":[{"id":"1","function":{"name":"sh","arguments":"{\"a\":1}"}}]}}]}`,
		"anthropic": `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"I look."},
			{"type":"tool_use","id":"1","name":"sh","input":{"a":1}}]}`,
		"gemini": `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"I look."},
			{"functionCall":{"name":"sh","args":{"a":1}},"thoughtSignature":"s"}]}}]}`,
		"responses": `{"object":"response","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},
			{"type":"message","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"1","name":"sh","arguments":"{\"a\":1}"}]}`,
	} {
		v, err := trajectory.Parse([]byte(`{"messages":[{"role":"user","content":"t"},
			{"role":"user","content":"Unknown tool.","extra":{"interrupt_type":"FormatError","response":` + response + `}}]}`))
		if err != nil || len(v.Steps) != 1 {
			t.Fatalf("%s: %v, %+v; want a step", name, err, v)
		}
		if s := v.Steps[0]; s.Thought != "I look.\nsh {\"a\":1}" || s.Reasoning != "Hm." {
			t.Errorf("%s: thought %q, reasoning %q", name, s.Thought, s.Reasoning)
		}
	}
}

// A person's words after a filtered reply refer to that reply, which is a step.
func TestWordsAfterAFilteredReplyAreANoteOfItsStep(t *testing.T) {
	v, err := trajectory.Parse([]byte(`{"messages":[{"role":"user","content":"t"},
		{"role":"user","content":"words","extra":{"interrupt_type":"UserInterruption","cost":1,"response":{"choices":[{"message":{"role":"assistant","content":null}}]}}},
		{"role":"assistant","content":"Done.","extra":{"response":{}}}]}`))
	if err != nil || len(v.Steps) != 2 {
		t.Fatalf("%v, %+v; want two steps", err, v)
	}
	s := v.Steps[0]
	if len(s.Notes) != 1 || s.Notes[0].Text != "words" || !s.Refused || !s.Priced || v.Steps[1].Thought != "Done." {
		t.Errorf("got %+v, and then %+v", s, v.Steps[1])
	}
}

func TestWhatACallUsedIsReadInEachProtocol(t *testing.T) {
	for response, want := range map[string]vocab.Usage{
		`{"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60}}}`:                              {Input: 100, Cached: 60, Output: 9},
		`{"usage":{"input_tokens":100,"output_tokens":9,"input_tokens_details":{"cached_tokens":60}}}`:                                    {Input: 100, Cached: 60, Output: 9},
		`{"usage":{"input_tokens":10,"output_tokens":9,"cache_read_input_tokens":60,"cache_creation_input_tokens":30}}`:                   {Input: 100, Cached: 60, Output: 9},
		`{"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60},"cache_read_input_tokens":60}}`: {Input: 100, Cached: 60, Output: 9},
		`{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":5,"thoughtsTokenCount":4}}`:         {Input: 100, Cached: 60, Output: 9, Reasoning: 4},
	} {
		v, err := trajectory.Parse([]byte(`{"messages":[{"role":"user","content":"t"},{"role":"assistant","content":"I look.","extra":{"response":` + response + `}}]}`))
		if err != nil || len(v.Steps) != 1 || v.Steps[0].Usage == nil || *v.Steps[0].Usage != want {
			t.Errorf("%s: got %v, %+v; want %+v", response, err, v, want)
		}
	}
}

func TestReasoningInAMessagesLayoutIsShown(t *testing.T) {
	v, err := trajectory.Parse([]byte(`{"messages":[{"role":"user","content":"t"},{"role":"assistant","content":"I look.",
		"extra":{"actions":[],"parts":[{"type":"reasoning","text":"Hm.","opaque":{"provider":"anthropic","data":"s"}},{"type":"text"}]}}]}`))
	if err != nil || len(v.Steps) != 1 || v.Steps[0].Reasoning != "Hm." || v.Steps[0].Thought != "I look." {
		t.Errorf("got %v, %+v; want the reasoning", err, v)
	}
}
