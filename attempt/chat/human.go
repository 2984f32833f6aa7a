package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"batch.example/batch/llm"
)

// Generate implements [llm.Model].
func (p *person) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	c := p.c
	began := time.Now()
	c.ran, c.stopped = false, false
	for c.current() == Human {
		in, err := c.ask(ctx, Question{Asked: AskCommand})
		if err != nil {
			return nil, &llm.Unpaid{Err: c.goodbye(err)}
		}
		switch {
		case in.Kind == SetMode:
		case in.Kind == Command && in.Text != "":
			c.own = true
			return c.reply(req, in.Text, time.Since(began))
		case in.Kind == Command:
		default:
			c.c.Face.Refuse(fmt.Errorf("%s: a command is expected, in mode human", in.Kind))
		}
	}
	c.own = false
	return p.Model.Generate(ctx, req)
}

// personModel is the model id of a person's replies.
const personModel = "human"

// reply returns a person's command in the form of a model's reply.
func (c *Chat) reply(req *llm.Request, command string, took time.Duration) (*llm.Response, error) {
	// The agent's time does not include the wait.
	resp := &llm.Response{Priced: true, Model: personModel, FinishReason: "stop", Waited: took}
	resp.Message.Role = llm.RoleAssistant
	if !slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "bash" }) {
		resp.Message.Parts = llm.Say(c.c.Fence(command))
		return resp, nil
	}
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return nil, err
	}
	resp.FinishReason = "tool_calls"
	resp.Message.Parts = []llm.Part{llm.ToolCall{ID: fmt.Sprintf("human_%d", len(req.Messages)), Name: "bash", Arguments: string(arguments)}}
	return resp, nil
}
