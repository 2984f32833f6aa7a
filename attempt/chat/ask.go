package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"batch.example/batch/attempt/session"
	"batch.example/batch/llm"
)

// ask asks the person until they answer q or an error ends the conversation: errEnd, errLeave or
// ctx's cause.
func (c *Chat) ask(ctx context.Context, q Question) (Input, error) {
	defer c.set(c.set(asking))
	if q.Asked == AskApprove {
		c.c.Face.Forget()
	}
	warned, lines := false, ""
	c.c.Face.Ask(q)
	for {
		line, ok, wait, end := c.inbox.take()
		switch {
		case ok:
			warned = false
			in, more, err := c.c.Face.Parse(lines+line, q)
			if more {
				lines += line + "\n"
				continue
			}
			lines = ""
			if err == nil {
				var done bool
				if done, err = c.handle(ctx, in); done {
					return in, err
				}
			}
			if err != nil && ctx.Err() != nil {
				return in, err
			}
			if err != nil {
				c.c.Face.Refuse(err)
			}
			c.c.Face.Ask(q)
			continue
		case errors.Is(end, io.EOF):
			return Input{}, errLeave
		case end != nil:
			c.c.Face.Refuse(fmt.Errorf("reading what you say: %w", end))
			return Input{}, errLeave
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return Input{}, context.Cause(ctx)
		case <-c.interrupted:
			if warned {
				return Input{}, errLeave
			}
			warned, lines = true, ""
			c.c.Face.Note("interrupt again, or /q, to leave; /k ends the conversation with its result")
			c.c.Face.Ask(q)
		}
	}
}

// handle executes the inputs that are allowed at every question. done says that in also answers the
// question.
func (c *Chat) handle(ctx context.Context, in Input) (done bool, err error) {
	switch in.Kind {
	case End:
		return true, errEnd
	case Leave:
		return true, errLeave
	case SetMode:
		c.setMode(in.Mode)
		return true, nil
	case Help:
		c.c.Face.Help()
	case Diff:
		patch, err := c.conv.Diff(ctx)
		if err != nil {
			return false, err
		}
		c.c.Face.Diff(patch)
	case History:
		list, err := c.conv.Messages(ctx, session.Query{})
		if err != nil {
			return false, err
		}
		c.c.Face.History(last(in.N, list))
	case Save:
		return false, c.save(ctx)
	default:
		return true, nil
	}
	return false, nil
}

// last returns the last n messages that were sent or received. Messages that only say how a turn
// ended do not count.
func last(n int, list []session.Message) []session.Message {
	list = slices.DeleteFunc(list, func(m session.Message) bool { return m.Role == llm.RoleExit })
	return list[max(0, len(list)-n):]
}

// saved is the artifact that marks the diff as the prediction.
const saved = "prediction.diff"

// save stores the current diff, and makes the diff at the end of the conversation the prediction.
func (c *Chat) save(ctx context.Context) error {
	patch, err := c.conv.Diff(ctx)
	if err != nil {
		return err
	}
	if err := c.conv.Session.SaveArtifact(ctx, saved, "text/x-diff", patch); err != nil {
		return err
	}
	c.conv.Salvage()
	c.c.Face.Note(fmt.Sprintf("saved a diff of %d bytes; when you end the conversation, the diff of that moment, or what the agent submitted last, is its prediction", len(patch)))
	return nil
}

// restoreSaved finds out whether the person saved before a resume.
func (c *Chat) restoreSaved(ctx context.Context) error {
	list, err := c.conv.Session.Artifacts(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.Name == saved {
			c.conv.Salvage()
		}
	}
	return nil
}

// onSight returns a function that handles a line as soon as it arrives.
func (c *Chat) onSight() func(line string) (taken bool) {
	if !c.c.Face.Eager() {
		return nil
	}
	return func(line string) bool {
		in, _, err := c.c.Face.Parse(line, Question{})
		if err != nil {
			c.c.Face.Refuse(err)
			return true
		}
		if in.Kind != Interrupt || c.doingNow() != working {
			return false
		}
		return c.interrupt(in.Text)
	}
}

func (c *Chat) doingNow() doing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doing
}
