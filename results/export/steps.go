package export

import (
	"io"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/results/trajectory"
)

// row is a row of the file of steps.
type row struct {
	Run        string `parquet:"run,dict"`
	InstanceID string `parquet:"instance_id,dict"`
	Repo       string `parquet:"repo,optional,dict"`
	License    string `parquet:"license,optional,dict"`
	Attempt    int    `parquet:"attempt"`
	Model      string `parquet:"model,optional,dict"`
	Step       int    `parquet:"step"`
	Last       bool   `parquet:"last"`

	Asked     time.Time `parquet:"asked,optional,timestamp(microsecond)"`
	Thought   string    `parquet:"thought"`
	Reasoning string    `parquet:"reasoning,optional"`
	Refused   bool      `parquet:"refused"`
	Rewrites  int       `parquet:"rewrites"`

	Tools          []string   `parquet:"tools,list,dict"`
	Commands       []string   `parquet:"commands,list"`
	ExitCodes      []*int64   `parquet:"exit_codes,list"`
	OutputBytes    []*int64   `parquet:"output_bytes,list"`
	CommandSeconds []*float64 `parquet:"command_seconds,list"`

	Seconds         *float64 `parquet:"seconds,optional"`
	Waited          *float64 `parquet:"waited,optional"`
	Cost            *float64 `parquet:"cost,optional"`
	InputTokens     *int64   `parquet:"input_tokens,optional"`
	CachedTokens    *int64   `parquet:"cached_tokens,optional"`
	OutputTokens    *int64   `parquet:"output_tokens,optional"`
	ReasoningTokens *int64   `parquet:"reasoning_tokens,optional"`

	ExitStatus string `parquet:"exit_status,dict"`
	Outcome    string `parquet:"outcome,dict"`
	Resolved   *bool  `parquet:"resolved,optional"`
}

// A row group is written when it has this many bytes of text, or this many rows.
const (
	groupBytes = 8 << 20
	groupRows  = 10_000
)

// Steps writes the steps as parquet into file, replacing it.
func Steps(file string) Output {
	return func(fill func(add func(*attempt) error) error) error {
		err := atomicfile.Files{}.Write(file, 0o644, func(w io.Writer) error {
			out := stepWriter{to: parquet.NewGenericWriter[row](w, parquet.Compression(&parquet.Zstd))}
			if err := fill(out.add); err != nil {
				return err
			}
			return out.to.Close()
		})
		return atomicfile.Fault("writing "+file, err)
	}
}

type stepWriter struct {
	to          *parquet.GenericWriter[row]
	rows, bytes int // of the row group
}

func (w *stepWriter) add(a *attempt) error {
	for i := range a.view.Steps {
		r := a.row(&a.view.Steps[i])
		r.Last = i == len(a.view.Steps)-1
		if _, err := w.to.Write([]row{r}); err != nil {
			return err
		}
		w.rows, w.bytes = w.rows+1, w.bytes+len(r.Thought)+len(r.Reasoning)
		for _, c := range r.Commands {
			w.bytes += len(c)
		}
		if w.rows >= groupRows || w.bytes >= groupBytes {
			if err := w.to.Flush(); err != nil {
				return err
			}
			w.rows, w.bytes = 0, 0
		}
	}
	return nil
}

func (a *attempt) row(s *trajectory.Step) row {
	r := row{
		Run: text(a.about.Run), InstanceID: text(a.about.Instance), Repo: textIn(a.about.Repo), License: textIn(a.about.License),
		Attempt: a.about.Attempt, Model: textIn(a.about.Model), Step: s.Number, Asked: s.Asked,
		Thought: text(s.Thought), Reasoning: text(s.Reasoning), Refused: s.Refused, Rewrites: len(s.Rewrites),
		ExitStatus: text(a.about.ExitStatus), Outcome: a.about.Outcome, Resolved: a.about.Resolved,
	}
	if s.Priced {
		r.Cost = &s.Cost
	}
	if s.Seconds > 0 {
		r.Seconds = &s.Seconds
	}
	if !s.Asked.IsZero() { // the journal knows
		r.Waited = &s.Waited
	}
	if u := s.Usage; u != nil {
		r.InputTokens, r.CachedTokens, r.OutputTokens, r.ReasoningTokens = &u.Input, &u.Cached, &u.Output, &u.Reasoning
	}
	for i := range s.Actions {
		r.act(&s.Actions[i])
	}
	return r
}

// act adds an action to the row's lists.
func (r *row) act(a *trajectory.Action) {
	tool := a.Tool
	if tool == "" {
		tool = shell
	}
	var exit, size *int64
	var seconds *float64
	if a.Exit != nil {
		code := int64(*a.Exit)
		exit = &code
	}
	if a.State == trajectory.Done {
		size = &a.Total
	}
	if a.Seconds > 0 {
		seconds = &a.Seconds
	}
	r.Tools, r.Commands = append(r.Tools, text(tool)), append(r.Commands, text(a.Command))
	r.ExitCodes, r.OutputBytes, r.CommandSeconds = append(r.ExitCodes, exit), append(r.OutputBytes, size), append(r.CommandSeconds, seconds)
}

// text returns s as parquet requires it: in UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func textIn(s *string) string {
	if s == nil {
		return ""
	}
	return text(*s)
}
