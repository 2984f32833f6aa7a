package journal

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"batch.example/batch/vocab"
)

// SessionData has a session's id, status and metadata. A later one replaces it.
type SessionData struct {
	Context  string            `json:"context,omitempty"` // its id
	Status   string            `json:"status,omitempty"`  // when it was saved
	Metadata map[string]string `json:"metadata,omitempty"`
}

// TurnData begins a turn with a person's words. It never names the person, and has no
// credentials. The turn of a batch run has no words.
type TurnData struct {
	Turn     int               `json:"turn"` // from 1
	Words    string            `json:"words,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// TurnEndData says how a turn ended.
type TurnEndData struct {
	Turn     int          `json:"turn"`
	End      TurnEnd      `json:"end"`
	Status   vocab.Status `json:"status"` // of the agent's run
	Question string       `json:"question,omitempty"`
	Error    string       `json:"error,omitempty"`
}

// decided reports whether the agent itself ended the turn, with no step left unfinished.
// Repeating the turn from its last reply would end it again.
func (d *TurnEndData) decided() bool {
	switch d.Status {
	case vocab.StatusRepeatedFormatError, vocab.StatusContentPolicyViolation, vocab.StatusContextWindowExceeded, vocab.StatusEnvironmentDestroyed:
		return true
	default:
		return d.End != TurnFailed
	}
}

// TurnEnd is one of the ways in which a turn ends.
type TurnEnd string

// The ends of a turn.
const (
	TurnFinished      TurnEnd = "finished"
	TurnMaxIterations TurnEnd = "max_iterations" // a limit was reached: the result is partial
	TurnInputRequired TurnEnd = "input_required" // the agent has asked the person something
	TurnFailed        TurnEnd = "failed"         // what it did is kept, and it can be tried again
)

// EndOf returns how a turn ends if the agent's run ended with a status.
func EndOf(s vocab.Status) TurnEnd {
	switch s {
	case vocab.StatusSubmitted, vocab.StatusAnswered:
		return TurnFinished
	case vocab.StatusInputRequired:
		return TurnInputRequired
	case vocab.StatusLimitsExceeded, vocab.StatusTimeExceeded:
		return TurnMaxIterations
	default:
		return TurnFailed
	}
}

// ArtifactData is a result of a session. A later one with the same name replaces it.
type ArtifactData struct {
	Turn      int    `json:"turn"`
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data"` // base64 in JSON: exact
}

// Turn is a turn of a session's attempt.
type Turn struct {
	TurnData
	Began time.Time
	End   *TurnEndData // nil while it runs and after a crash; how it last failed, if it failed
	Ended time.Time    // when it ended, or last failed
	Asked bool         // a request was made in it, with its words in the conversation
	From  int          // index of its first message in the conversation

	forgotten bool // the conversation was forgotten after it began
	said      bool // its words and all earlier ones are in the conversation

	// What the attempt had used before the turn.
	Calls    int
	Cost     float64 // US dollars
	Unpriced int     // answers of unknown cost, which Cost does not include
	Elapsed  time.Duration
}

// Open reports whether the turn can be continued: it runs, was interrupted, or failed, and
// its conversation was not forgotten.
func (t *Turn) Open() bool { return !t.forgotten && (t.End == nil || t.End.End == TurnFailed) }

// Task returns the person's first words since the conversation was last forgotten.
func (h *History) Task() string {
	if h.first >= len(h.Turns) {
		return ""
	}
	return h.Turns[h.first].Words
}

// Unsaid returns the person's words that are not in the conversation yet, because their
// turns failed or were interrupted before their first request. Blank lines separate them.
// The task is not among them.
func (h *History) Unsaid() string {
	from := len(h.Turns)
	for from > h.first+1 && !h.Turns[from-1].said {
		from--
	}
	var words []string
	for _, t := range h.Turns[from:] {
		if t.Words != "" {
			words = append(words, t.Words)
		}
	}
	return strings.Join(words, "\n\n")
}

// Tokens returns the estimated length of the last request, which had Conversation; 0 if it
// is unknown, or a turn has ended since.
func (h *History) Tokens() int64 {
	if n := len(h.Steps); n > h.closed {
		return h.Steps[n-1].Tokens
	}
	return 0
}

// Turn returns the last turn; nil if none has begun.
func (h *History) Turn() *Turn {
	if len(h.Turns) == 0 {
		return nil
	}
	return &h.Turns[len(h.Turns)-1]
}

// TurnOf returns the turn in which the conversation's message with index i was appended,
// from 1; 0 if there are no turns. The messages are Messages, and then Later.
func (h *History) TurnOf(i int) int {
	for n := len(h.Turns); n > 0; n-- {
		if h.Turns[n-1].From <= i {
			return n
		}
	}
	return min(1, len(h.Turns))
}

// turn reads the records of a session.
func (b *builder) turn(r *Record) error {
	h := b.h
	switch r.Type {
	case TypeSession:
		h.Session = &SessionData{}
		return json.Unmarshal(r.Data, h.Session)
	case TypeTurn:
		t := Turn{Began: r.Time, From: len(h.Messages) + len(h.Later), Calls: r.Calls, Cost: r.Cost, Unpriced: h.Unpriced(), Elapsed: h.Elapsed}
		err := json.Unmarshal(r.Data, &t.TurnData)
		h.Turns = append(h.Turns, t)
		b.format, h.FormatErrors = 0, 0
		return err
	case TypeTurnEnd:
		return b.endTurn(r)
	case TypeRetry:
		b.again()
	case TypeArtifact:
		var a ArtifactData
		err := json.Unmarshal(r.Data, &a)
		h.Artifacts = append(h.Artifacts, Artifact{a, r.Time})
		return err
	case TypeClear:
		h.Messages, h.Later, h.sent, h.Artifacts = nil, nil, nil, nil
		for i := range h.Turns {
			h.Turns[i].From, h.Turns[i].forgotten = 0, true
		}
		h.Rewrites, b.pending = nil, 0
		h.Cleared, h.closed, h.first = h.Cleared+1, len(h.Steps), len(h.Turns)
		b.format, h.FormatErrors, h.Summarized = 0, 0, false
	}
	return nil
}

// Unpriced counts the answers of unknown cost so far.
func (h *History) Unpriced() (n int) {
	for _, s := range h.Steps {
		if s.Reply != nil && !s.Reply.Priced {
			n++
		}
	}
	for _, s := range h.Summaries {
		if !s.Reply.Priced {
			n++
		}
	}
	return n
}

func (b *builder) endTurn(r *Record) error {
	t := b.h.Turn()
	if t == nil {
		return errors.New("there is no turn before it")
	}
	b.before = Record{} // no work is done until the next turn
	t.End, t.Ended = &TurnEndData{}, r.Time
	if err := json.Unmarshal(r.Data, t.End); err != nil || t.Open() && !t.End.decided() {
		return err
	}
	if err := b.commit(); err != nil {
		return err
	}
	t.said = true
	if n := len(b.h.Steps); n > 0 {
		b.h.Steps[n-1].forget()
	}
	b.h.closed = len(b.h.Steps)
	b.format, b.h.FormatErrors = 0, 0
	return nil
}

// Artifact is an artifact and when it was saved.
type Artifact struct {
	ArtifactData
	Saved time.Time
}
