package agent

import (
	"context"
	"fmt"

	"batch.example/batch/llm"
)

// Turn hears words, runs the loop until it ends, and saves. The first turn's
// words are the task; later ones are said after the history, of which exit
// messages are not sent to the model. What with says of the model, environment,
// recorder and so on holds for this turn alone, and so do the loop's limits.
//
// After an error the session is ready with what is known so far; words may be
// empty then, to try again from there. The Ending is nil only when the session
// was not ready.
func (s *Session) Turn(ctx context.Context, words string, with Turn) (*Ending, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, err := s.beginTurn(words, with, cancel)
	if err != nil {
		return nil, err
	}
	defer s.abandonTurn()
	end, err := s.loop.Run(ctx, with)
	// The turn was paid for: it is saved although the caller wants to stop.
	if saved := s.endTurn(context.WithoutCancel(ctx), end, err); err == nil {
		err = saved
	}
	return end, err
}

// Interrupt puts words before the running turn's next call, or the next
// turn's first.
func (s *Session) Interrupt(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, words)
}

func (s *Session) beginTurn(words string, with Turn, cancel context.CancelFunc) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Status != StatusReady {
		return with, s.wrongStatus("taking a turn of")
	}
	if len(s.messages) == 0 {
		s.state.Task = words
	} else {
		with.Say = words
	}
	with.Task, with.Messages = s.state.Task, s.messages
	with.Calls, with.Cost = 0, 0
	with.Admit = s.admit(with.Admit)
	s.state.Status, s.state.Error = StatusBusy, ""
	s.state.Turns++
	s.state.LastActivity = s.loop.config.Now()
	s.cancel, s.idle = cancel, make(chan struct{})
	return with, nil
}

func (s *Session) endTurn(ctx context.Context, end *Ending, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(s.idle)
	s.messages = end.Messages
	s.state.Calls += end.Calls
	s.state.Cost += end.Cost
	s.state.Status = StatusReady
	s.state.LastActivity = s.loop.config.Now()
	if err != nil {
		s.state.Error = err.Error()
	}
	if end.Submitted {
		name := fmt.Sprintf("submission-%d.patch", s.state.Turns)
		s.artifacts = append(s.artifacts, Artifact{Name: name, Turn: s.state.Turns, Data: end.Submission})
	}
	return s.save(ctx)
}

// abandonTurn frees a session whose turn panicked; what it did is not known.
func (s *Session) abandonTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Status != StatusBusy {
		return
	}
	s.state.Status, s.state.Error = StatusReady, "the turn ended in a panic"
	close(s.idle)
}

// admit lets what Interrupt was told in before it asks next, the caller's Admit.
func (s *Session) admit(next func() error) func() error {
	return func() error {
		s.mu.Lock()
		said := s.said
		s.said = nil
		s.mu.Unlock()
		if len(said) > 0 {
			all := Interrupted(said[0])
			for _, words := range said[1:] {
				all.Messages = append(all.Messages, llm.Message{
					Role: llm.RoleUser, Content: words, Extra: map[string]any{"interrupt_type": UserInterruption},
				})
			}
			return all
		}
		if next == nil {
			return nil
		}
		return next()
	}
}
