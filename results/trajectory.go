package results

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/python"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// TrajectoryFormat is the format tag that other tools look for.
const TrajectoryFormat = "mini-swe-agent-1.1"

// Trajectory is the content of <id>/<id>.traj.json. Members are in mini-swe-agent's order;
// Info has its keys (model_stats, config, mini_version, exit_status, submission, traceback,
// exception_str) and batch's own.
type Trajectory struct {
	Info       Info              `json:"info"`
	Messages   []json.RawMessage `json:"messages"`
	Format     string            `json:"trajectory_format"`
	InstanceID string            `json:"instance_id"`
}

// Info is a trajectory's head.
type Info struct {
	ModelStats     ModelStats          `json:"model_stats"`
	Config         map[string]any      `json:"config"`
	MiniVersion    string              `json:"mini_version"` // the version of mini-swe-agent that defines the format
	BatchVersion   string              `json:"batch_version"`
	ExitStatus     vocab.Status        `json:"exit_status"`
	Submission     string              `json:"submission"`
	Exception      string              `json:"exception_str,omitempty"`
	Traceback      string              `json:"traceback,omitempty"`
	Salvage        string              `json:"salvaged_patch,omitempty"`  // working tree's diff, if the agent did not submit
	PredictionNote string              `json:"prediction_note,omitempty"` // why the prediction's text is not the submission's bytes
	ImageCommit    *journal.CommitData `json:"image_commit,omitempty"`    // where the image is not at the row's base_commit
	Record         *Record             `json:"batch,omitempty"`

	// Rewrites has the changes of the conversation that the model was sent, in order; none
	// if it was sent the messages unchanged.
	Rewrites []Rewrite `json:"rewrites,omitempty"`
}

// Rewrite is a change of the conversation that the model is sent. The messages of a
// trajectory do not show it. To find the messages of a step's request, take the messages
// before the step's reply one by one, without the role exit. Before the message with index
// At, apply the Edits of each Rewrite to the list so far. The indexes of an edit refer to
// this list.
type Rewrite struct {
	At       int            `json:"at"` // number of messages at the time
	Step     int            `json:"step"`
	Policy   string         `json:"policy"`
	Refused  bool           `json:"refused,omitempty"` // the provider had found the conversation too long
	Before   int64          `json:"tokens_before"`     // of the request, estimated
	After    int64          `json:"tokens_after"`
	Messages int            `json:"messages"`          // how many were replaced
	Summary  *SummaryCall   `json:"summary,omitempty"` // the call for a summary that was made for it
	Edits    []journal.Edit `json:"edits"`
}

// SummaryCall is a paid call that is not a step. Its answer is in the edit.
type SummaryCall struct {
	Cost    float64     `json:"cost"` // US dollars; a part of instance_cost
	Usage   vocab.Usage `json:"usage"`
	Model   string      `json:"model"`
	Seconds float64     `json:"seconds"`
}

// rewritesOf returns the journal's rewrites.
func rewritesOf(h *journal.History) (list []Rewrite) {
	for _, w := range h.Rewrites {
		r := Rewrite{At: w.At, Step: w.Step, Policy: w.Policy, Refused: w.Refused, Before: w.Before, After: w.After, Edits: w.Edits}
		for _, e := range w.Edits {
			r.Messages += e.To - e.From
		}
		if s := h.SummaryOf(w.Summary); w.Summary != "" && s != nil {
			r.Summary = &SummaryCall{Cost: s.Cost, Usage: s.Usage, Model: s.Model, Seconds: s.Seconds}
		}
		list = append(list, r)
	}
	return list
}

// ModelStats has mini-swe-agent's counts.
type ModelStats struct {
	Cost  float64 `json:"instance_cost"`
	Calls int     `json:"api_calls"`
}

// TrajectoryPath returns the path of an instance's last trajectory in the run directory
// dir.
func TrajectoryPath(dir, id string) string { return filepath.Join(dir, id, trajectoryFile(id)) }

// JournalPath returns the path of an instance's journal in the run directory dir.
func JournalPath(dir, id string) string { return filepath.Join(dir, id, journalFile) }

func trajectoryFile(id string) string { return id + ".traj.json" }

func (rd *Reader) trajectoryPath(id string) string { return TrajectoryPath(rd.dir, id) }

// writeTrajectory replaces the trajectory at path, with the head from r and the messages
// from the journal, one after the other, so that at most one output is in memory. The
// caller syncs the directory.
func (s *Store) writeTrajectory(path string, h *journal.History, r *Result) (err error) {
	return s.files.WriteUnsynced(path, 0o644, func(w io.Writer) error { return writeTrajectory(w, s.mask, h, r) })
}

func writeTrajectory(w io.Writer, m *mask.Masker, h *journal.History, r *Result) error {
	t := trajectoryWriter{mask: m, history: h, w: bufio.NewWriterSize(w, 64<<10)}
	if len(h.Opened) > 0 { // there is a journal
		var err error
		if t.source, err = h.Source(); err != nil {
			return err
		}
		defer t.source.Close()
	}
	return errors.Join(t.write(r), t.w.Flush())
}

// trajectoryWriter writes one trajectory as Python's json.dumps(v, indent=2) does, with its secrets hidden.
type trajectoryWriter struct {
	mask    *mask.Masker
	source  *journal.Source
	history *journal.History
	w       *bufio.Writer
}

func (t *trajectoryWriter) write(r *Result) error {
	t.text("{\n  \"info\": ")
	if err := t.value(headOf(t.history, r), "  "); err != nil {
		return err
	}
	t.text(",\n  \"messages\": [")
	next := ""
	for _, m := range slices.Concat(t.history.Messages, t.history.Later) {
		t.text(next + "\n    ")
		if err := t.message(m); err != nil {
			return err
		}
		next = ","
	}
	if next != "" {
		t.text("\n  ")
	}
	t.text("],\n  \"trajectory_format\": ")
	if err := t.value(TrajectoryFormat, ""); err != nil {
		return err
	}
	t.text(",\n  \"instance_id\": ")
	if err := t.value(r.Record.InstanceID, ""); err != nil {
		return err
	}
	t.text("\n}")
	return nil
}

// text writes JSON text; the buffer keeps an error.
func (t *trajectoryWriter) text(s string) { _, _ = t.w.WriteString(s) }

func (t *trajectoryWriter) value(v any, indent string) error {
	text, err := python.Compact(v)
	if err != nil {
		return fault.New(fault.Bug, "encoding a trajectory", err)
	}
	return t.json(t.mask.JSON(text), indent)
}

// json writes JSON in which no secret is left.
func (t *trajectoryWriter) json(text []byte, indent string) error {
	text, err := python.Indent(text, indent)
	if err != nil {
		return fault.New(fault.Bug, "encoding a trajectory", err)
	}
	_, err = t.w.Write(text)
	return err
}

// message writes a message, with its references replaced by the data.
func (t *trajectoryWriter) message(m json.RawMessage) error {
	m, out, err := t.resolve(m)
	switch {
	case err != nil:
		return err
	case out == nil:
		return t.json(m, "    ")
	}
	return t.withOutput(m, out)
}

// output is the output that a message's raw_output refers to, with its secrets hidden.
type output struct {
	at    span // of the reference
	text  []byte
	total int64 // bytes of the whole output
	cut   bool  // text has fewer
}

// resolve replaces the message's reference to the provider's answer, hides secrets, and
// reads the output that the message refers to; nil: it refers to none.
func (t *trajectoryWriter) resolve(m json.RawMessage) (json.RawMessage, *output, error) {
	m, err := t.withResponse(m)
	if err != nil {
		return nil, nil, err
	}
	var ref journal.OutputRef
	at, found := refMember(m, "extra", "raw_output")
	found = found && isRef(m[at.from:at.to], &ref)
	// The reference to the output has no secrets and stays, so that it can be replaced
	// later; the replacement must not be masked again.
	m = t.mask.JSON(m)
	if !found {
		return m, nil, nil
	}
	at, _ = refMember(m, "extra", "raw_output")
	text, total, err := t.source.Output(ref)
	return m, &output{at, t.mask.Bytes(text), total, total > int64(len(text))}, err
}

// members returns the members of the message's extra with the output: a JSON text, and the
// base64 of bytes that are not UTF-8.
func (o *output) members(text, encoded string) string {
	if !utf8.Valid(o.text) {
		text += `,"raw_output_base64":"` + encoded + `"`
	}
	if o.cut {
		text += `,"output_bytes":` + strconv.FormatInt(o.total, 10)
	}
	return text
}

// withResponse replaces the message's reference to the provider's answer.
func (t *trajectoryWriter) withResponse(m json.RawMessage) (json.RawMessage, error) {
	var ref struct {
		Step int `json:"step"`
	}
	at, found := refMember(m, "extra", "response")
	if !found || !isRef(m[at.from:at.to], &ref) {
		return m, nil
	}
	response, err := t.source.Response(ref.Step)
	if err != nil || len(response) == 0 {
		return m, err
	}
	return slices.Concat(m[:at.from], response, m[at.to:]), nil
}

// span is a place in a JSON text, in bytes.
type span struct{ from, to int }

// withOutput writes m, which has no secrets left, with its output, which may be large.
func (t *trajectoryWriter) withOutput(m []byte, out *output) error {
	text, encoded := rand.Text(), rand.Text() // placeholders for texts that are written separately
	place := out.members(`"`+text+`"`, encoded)
	rest, err := python.Indent(slices.Concat(m[:out.at.from], []byte(place), m[out.at.to:]), "    ")
	if err != nil {
		return fault.New(fault.Bug, "encoding a trajectory", err)
	}
	before, rest, _ := bytes.Cut(rest, []byte(text))
	_, _ = t.w.Write(before)
	t.inString(out.text)
	if before, after, found := bytes.Cut(rest, []byte(encoded)); found {
		_, _ = t.w.Write(before)
		e := base64.NewEncoder(base64.StdEncoding, t.w)
		_, _ = e.Write(out.text)
		_ = e.Close()
		rest = after
	}
	_, err = t.w.Write(rest)
	return err
}

// inString writes text as the content of a JSON string, with bytes that are not UTF-8 as
// U+FFFD.
func (t *trajectoryWriter) inString(text []byte) {
	const most = 16 << 10
	for len(text) > 0 {
		n := min(most, len(text))
		for back := 1; back < utf8.UTFMax && n < len(text) && !utf8.RuneStart(text[n]); back++ {
			n-- // no character is cut
		}
		quoted, err := python.JSON(string(text[:n]), "")
		if err == nil {
			_, _ = t.w.Write(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
}

// refMember finds the member inner of an object's member outer, which may be a reference.
func refMember(object []byte, outer, inner string) (span, bool) {
	if !bytes.Contains(object, []byte(`"`+inner+`":{"step":`)) { // the usual case, tested fast
		return span{}, false
	}
	member := gjson.GetBytes(object, outer+"."+inner)
	return span{member.Index, member.Index + len(member.Raw)}, member.Index > 0
}

// isRef decodes an object into ref, and reports whether it has exactly ref's members.
func isRef(value []byte, ref any) bool {
	if value[0] != '{' {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	return d.Decode(ref) == nil
}
