package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

func TestARefusalOfOneConversationDoesNotStopTheRun(t *testing.T) {
	e, err := Open(Config{Model: "m", BaseURL: "http://h", Proven: true}, Protocol{KeyVariable: "A_KEY", AddressVariable: "AN_ADDRESS"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status int
		body   string
		kind   fault.Kind
		hint   string
	}{
		{400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Precondition check failed."}}`, fault.Instance, ""},
		{400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"User location is not supported for the API use."}}`, fault.Host, "A_KEY"},
		{400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Gemini API free tier is not available in your country."}}`, fault.Host, "A_KEY"},
		{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no","details":[{"reason":"API_KEY_INVALID"}]}}`, fault.Host, "A_KEY"},
		{404, "{\"error\":{\"message\":\"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.\",\"type\":\"invalid_request_error\",\"param\":\"input\"}}", fault.Instance, ""},
		{404, `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`, fault.Host, "AN_ADDRESS"},
		{400, `{"error":{"message":"no","code":"content_filter"}}`, fault.Instance, ""},
		{400, `{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`, fault.Instance, "agent.context_policy"},
	} {
		err := e.misconfigured(&llm.Request{}, e.Refused(&http.Response{StatusCode: tt.status, Body: io.NopCloser(strings.NewReader(tt.body))}))
		if hint := fault.HintOf(err); fault.KindOf(err) != tt.kind || !strings.Contains(hint, tt.hint) || tt.hint == "" && hint != "" {
			t.Errorf("%d %s: %v, hint %q; want %v with %q", tt.status, tt.body, fault.KindOf(err), hint, tt.kind, tt.hint)
		}
	}
}

func TestTheHintOfAFirstRefusalNamesMembersAsTheUserWroteThem(t *testing.T) {
	translate := func(members map[string]any, _, _ string) ([]string, error) {
		clear(members)
		members["generationConfig"] = map[string]any{"topP": 0.5, "seed": 1}
		return []string{"n"}, nil
	}
	kwargs := map[string]any{
		"top_p": 0.5, "n": 1, "seed": 1, "drop_params": true,
		"extra_body": map[string]any{"max_tokens": 5, "generationConfig": map[string]any{"x": 1}},
	}
	e, err := Open(Config{Model: "m", BaseURL: "http://h", Kwargs: kwargs}, Protocol{Translate: translate})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Body["generationConfig"].(map[string]any); len(got) != 3 || e.Body["max_tokens"] != 5 {
		t.Errorf("the request has %v, want the members of extra_body next to the translated ones", e.Body)
	}
	for said, want := range map[string]string{
		"Invalid value: topP": "check model_kwargs.top_p\n",
		"no":                  "check model_kwargs.seed, model_kwargs.top_p, model_kwargs.extra_body.generationConfig, model_kwargs.extra_body.max_tokens\n",
		"This model's maximum context length is 1": "check model_kwargs.extra_body.max_tokens\n",
	} {
		body := io.NopCloser(strings.NewReader(`{"error":{"message":"` + said + `"}}`))
		err := e.misconfigured(&llm.Request{}, e.Refused(&http.Response{StatusCode: 400, Body: body}))
		if hint := fault.HintOf(err); fault.KindOf(err) != fault.Host || !strings.Contains(hint, want) {
			t.Errorf("%s: %v, hint %q; want %q", said, fault.KindOf(err), hint, want)
		}
	}
	body := io.NopCloser(strings.NewReader(`{"error":{"message":"no"}}`))
	later := &llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: llm.Say("a")}}}
	if err := e.misconfigured(later, e.Refused(&http.Response{StatusCode: 400, Body: body})); fault.KindOf(err) != fault.Instance || fault.HintOf(err) != "" {
		t.Errorf("in the middle of a conversation: %v, hint %q; want an Instance fault", fault.KindOf(err), fault.HintOf(err))
	}
}

func TestAnUnclearRefusalSaysHowMuchIsSetAsideForTheAnswer(t *testing.T) {
	for want, kwargs := range map[int64]map[string]any{
		0: nil, 5: {"max_tokens": 5}, 1_000_000: {"max_completion_tokens": 1e6}, 7: {"extra_body": map[string]any{"generationConfig": map[string]any{"maxOutputTokens": 7}}},
	} {
		e, err := Open(Config{Model: "m", BaseURL: "http://h", Proven: true, Kwargs: kwargs}, Protocol{})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Refused(&http.Response{StatusCode: 422, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"no"}}`))})
		if unclear, ok := errors.AsType[*llm.Unclear](err); !ok || unclear.Answer != want {
			t.Errorf("%v: %+v, want %d tokens", kwargs, unclear, want)
		}
	}
}

func TestAFaultOfTheTransportIsNoRefusal(t *testing.T) {
	e, err := Open(Config{Model: "m", BaseURL: "http://h"}, Protocol{})
	if err != nil {
		t.Fatal(err)
	}
	own := fault.Newf(fault.Instance, "replaying: request 1 differs").WithHint("record again")
	_, err = e.Ask(t.Context(), &llm.Request{}, func(context.Context) (*http.Response, *llm.Response, error) {
		return nil, nil, &url.Error{Op: "Post", URL: "http://h/v1", Err: &llm.Unpaid{Err: own}}
	})
	if llm.Lost(err) != 0 || fault.KindOf(err) != fault.Instance || err.Error() != own.Error() || fault.HintOf(err) != own.Hint {
		t.Errorf("got %v (%v), hint %q; want the unpaid fault %v unchanged", err, fault.KindOf(err), fault.HintOf(err), own)
	}
}
