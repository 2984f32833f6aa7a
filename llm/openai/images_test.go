package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
)

// keeper is a transport that keeps the bodies of requests.
type keeper struct{ bodies []string }

func (k *keeper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	k.bodies = append(k.bodies, string(body))
	const answer = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"ok"}}]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, err
}

// OpenAI takes no image in a tool's result: those of consecutive results follow them as the user's, also when
// the conversation grows. Others get them where they are.
func TestImagesInResultsAreTheUsersForOpenAI(t *testing.T) {
	result := func(id string, parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: id, Parts: parts}}}
	}
	messages := []llm.Message{
		{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "task"}, llm.Image{MediaType: "image/png", Data: []byte("0")}}},
		{Role: llm.RoleAssistant, Parts: llm.Say("", llm.ToolCall{ID: "a", Name: "editor", Arguments: "{}"}, llm.ToolCall{ID: "b", Name: "editor", Arguments: "{}"})},
		result("a", llm.Text{Text: "one"}, llm.Image{MediaType: "image/png", Data: []byte("1")}),
		result("b", llm.Text{Text: "two"}, llm.Image{MediaType: "image/gif", Data: []byte("2")}),
		{Role: llm.RoleAssistant, Parts: llm.Say("", llm.ToolCall{ID: "c", Name: "bash", Arguments: "{}"})},
		result("c", llm.Text{Text: "three"}),
	}
	for base, want := range map[string]string{
		"https://api.openai.com/v1": "user[image] assistant tool tool user[image image] assistant tool",
		"https://model.test/v1":     "user[image] assistant tool[image] tool[image] assistant tool",
	} {
		k := &keeper{}
		m := compose(t, endpoint.Config{Model: "gpt-5", BaseURL: base, APIKey: planted, Retry: fast, HTTP: &http.Client{Transport: k}})
		memo := &llm.Memo{}
		for _, n := range []int{1, 3, 4, 6} {
			if _, err := m.Generate(t.Context(), &llm.Request{Messages: messages[:n], Memo: memo}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Generate(t.Context(), &llm.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		grown, once := k.bodies[3], k.bodies[4]
		if grown != once {
			t.Errorf("%s: a conversation that grew is\n%s\nwant\n%s", base, grown, once)
		}
		if got := shape(t, once); got != want {
			t.Errorf("%s: got %s, want %s", base, got, want)
		}
	}
}

// shape returns the roles of a request with their images.
func shape(t *testing.T, body string) string {
	t.Helper()
	var r struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range r.Messages {
		images := strings.Repeat("image ", strings.Count(string(m.Content), `"image_url":{"url":"data:image/`))
		if images != "" {
			m.Role += "[" + strings.TrimSpace(images) + "]"
		}
		all = append(all, m.Role)
	}
	return strings.Join(all, " ")
}
