// Command sdk asks a model through a provider's own library, and writes what the library makes of the answer
// as JSON. Tests compare what it sees at a server and at a gateway before it.
//
//	sdk messages|chat|responses stream|whole URL KEY TIMEOUT
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

// seen is what a library makes of an answer.
type seen struct {
	Text   string   `json:"text,omitempty"`
	Calls  []string `json:"calls,omitempty"`
	Stop   string   `json:"stop,omitempty"`
	Input  int64    `json:"input,omitempty"`
	Output int64    `json:"output,omitempty"`
	Raw    string   `json:"raw,omitempty"` // an answer that was not streamed, as it came
	Status int      `json:"status,omitempty"`
	Error  string   `json:"error,omitempty"`
}

const (
	model   = "the-model"
	prompt  = "What is in this folder?"
	retries = 5
)

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: sdk messages|chat|responses stream|whole URL KEY TIMEOUT")
		os.Exit(2)
	}
	timeout, err := time.ParseDuration(os.Args[5])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var s seen
	ask := map[string]func(context.Context, *seen, bool, string, string, time.Duration) error{"messages": messages, "chat": chat, "responses": respond}[os.Args[1]]
	if err := ask(context.Background(), &s, os.Args[2] == "stream", os.Args[3], os.Args[4], timeout); err != nil {
		s.fail(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
}

func (s *seen) fail(err error) {
	s.Error = err.Error()
	if e, ok := errors.AsType[*openai.Error](err); ok {
		s.Status, s.Error = e.StatusCode, e.Code+" "+e.Message
	}
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		s.Status, s.Error = e.StatusCode, e.RawJSON()
	}
}

// impatient returns a client that waits so long for the beginning of an answer. The libraries then ask again.
func impatient(timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = timeout
	return &http.Client{Transport: transport}
}

func messages(ctx context.Context, s *seen, stream bool, url, key string, timeout time.Duration) error {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(retries), anthropicoption.WithHTTPClient(impatient(timeout)))
	params := anthropic.MessageNewParams{
		Model: model, MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "bash", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"command": map[string]any{"type": "string"}}}}}},
	}
	var m anthropic.Message
	if stream {
		events := client.Messages.NewStreaming(ctx, params)
		defer events.Close()
		for events.Next() {
			if err := m.Accumulate(events.Current()); err != nil {
				return err
			}
		}
		if err := events.Err(); err != nil {
			return err
		}
	} else {
		whole, err := client.Messages.New(ctx, params)
		if err != nil {
			return err
		}
		m, s.Raw = *whole, whole.RawJSON()
	}
	for _, b := range m.Content {
		s.Text += b.Thinking + b.Signature + b.Text
		if b.Type == "tool_use" {
			s.Calls = append(s.Calls, b.Name+" "+string(b.Input))
		}
	}
	s.Stop, s.Input, s.Output = string(m.StopReason), m.Usage.InputTokens, m.Usage.OutputTokens
	return nil
}

func newOpenAI(url, key string, timeout time.Duration) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(url), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(retries), openaioption.WithHTTPClient(impatient(timeout)))
}

// schema is that of the tool's arguments.
var schema = map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}}

func chat(ctx context.Context, s *seen, stream bool, url, key string, timeout time.Duration) error {
	client := newOpenAI(url, key, timeout)
	params := openai.ChatCompletionNewParams{
		Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.DeveloperMessage("Be brief."), openai.UserMessage(prompt)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "bash", Parameters: schema})},
	}
	var c openai.ChatCompletion
	if stream {
		var all openai.ChatCompletionAccumulator
		events := client.Chat.Completions.NewStreaming(ctx, params)
		defer events.Close()
		for events.Next() {
			if !all.AddChunk(events.Current()) {
				return fmt.Errorf("the piece %s does not belong to the answer", events.Current().RawJSON())
			}
		}
		if err := events.Err(); err != nil {
			return err
		}
		c = all.ChatCompletion
	} else {
		whole, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return err
		}
		c, s.Raw = *whole, whole.RawJSON()
	}
	if len(c.Choices) != 1 {
		return fmt.Errorf("%d choices", len(c.Choices))
	}
	s.Text, s.Stop = c.Choices[0].Message.Content, c.Choices[0].FinishReason
	for _, call := range c.Choices[0].Message.ToolCalls {
		s.Calls = append(s.Calls, call.Function.Name+" "+call.Function.Arguments)
	}
	s.Input, s.Output = c.Usage.PromptTokens, c.Usage.CompletionTokens
	return nil
}

func respond(ctx context.Context, s *seen, stream bool, url, key string, timeout time.Duration) error {
	client := newOpenAI(url, key, timeout)
	params := responses.ResponseNewParams{
		Model: model, Store: param.NewOpt(false), Include: []responses.ResponseIncludable{"reasoning.encrypted_content"},
		Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(prompt)},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "bash", Parameters: schema, Strict: param.NewOpt(false)}}},
	}
	var r responses.Response
	if stream {
		var said strings.Builder
		events := client.Responses.NewStreaming(ctx, params)
		defer events.Close()
		for events.Next() {
			switch e := events.Current(); e.Type {
			case "response.output_text.delta":
				said.WriteString(e.Delta)
			case "response.completed":
				r = e.Response
			case "response.failed":
				return fmt.Errorf("%s %s", e.Response.Error.Code, e.Response.Error.Message)
			}
		}
		if err := events.Err(); err != nil {
			return err
		}
		if said.String() != r.OutputText() {
			return fmt.Errorf("the pieces are %q, the whole %q", said.String(), r.OutputText())
		}
	} else {
		whole, err := client.Responses.New(ctx, params)
		if err != nil {
			return err
		}
		r, s.Raw = *whole, whole.RawJSON()
	}
	s.Text, s.Stop = r.OutputText(), string(r.Status)
	for _, item := range r.Output {
		switch item.Type {
		case "function_call":
			s.Calls = append(s.Calls, item.Name+" "+item.AsFunctionCall().Arguments)
		case "reasoning":
			s.Text += item.EncryptedContent
		}
	}
	s.Input, s.Output = r.Usage.InputTokens, r.Usage.OutputTokens
	return nil
}
