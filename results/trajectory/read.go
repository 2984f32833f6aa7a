package trajectory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// ErrNoPatch is in the chain of an error when an attempt left no patch.
var ErrNoPatch = fmt.Errorf("%w: there is no patch", fs.ErrNotExist)

// Source names a trajectory: an attempt at an instance of a run directory, or a file.
type Source struct {
	Dir, Instance string
	Attempt       int    // negative: the last; 0: a trajectory without a journal
	File          string // in place of the others
}

// path returns the path of the attempt's file, which exists after the attempt has ended,
// and the attempt from the journal, or nil without a journal.
func (s Source) path(read reader) (path string, h *journal.History, err error) {
	if s.File != "" {
		return s.File, nil, nil
	}
	last := results.TrajectoryPath(s.Dir, s.Instance)
	if s.Attempt == 0 {
		if earlier := results.EarlierTrajectory(s.Dir, s.Instance, 0); exists(earlier) {
			return earlier, nil, nil
		}
		return s.foreignOr(last), nil, nil
	}
	h, err = read(results.JournalPath(s.Dir, s.Instance), s.Attempt)
	if errors.Is(err, fs.ErrNotExist) {
		h, err = nil, nil
	}
	number := s.Attempt
	if h != nil {
		number = h.Attempt
	}
	if earlier := results.EarlierTrajectory(s.Dir, s.Instance, number); number > 0 && exists(earlier) {
		return earlier, h, err
	}
	if h == nil && err == nil {
		last = s.foreignOr(last)
	}
	return last, h, err
}

// foreignOr returns path if the file exists, or else the file of another tool in the run
// directory, if there is one.
func (s Source) foreignOr(path string) string {
	if !exists(path) {
		if other := foreignFile(s.Dir, s.Instance); other != "" {
			return other
		}
	}
	return path
}

// foreignFile returns where SWE-agent or Harbor put the trajectory of an instance or a trial;
// empty if there is none.
func foreignFile(dir, id string) string {
	for _, name := range []string{
		filepath.Join(id, id+".traj"), id + ".traj", filepath.Join(id, "agent", "trajectory.json"), filepath.Join(id, "trajectory.json"),
	} {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	return ""
}

// load finds the attempt in its file, in its journal, or in both. If it runs or broke off,
// only the journal counts; without a readable journal, only the file. If there is neither,
// that is an error.
func (s Source) load(m *mask.Masker, read reader) (path string, v *View, h *journal.History, err error) {
	path, h, err = s.path(read)
	if h != nil && h.End == nil {
		return path, nil, h, nil
	}
	v, fileErr := s.read(path, h, m)
	if v != nil || h != nil {
		return path, v, h, nil
	}
	return path, nil, nil, cmp.Or(err, fileErr)
}

// Read reads the attempt, for people. It takes no lock. If the attempt has ended, it reads the file,
// in which the run hid secrets. If the attempt runs or broke off, it reads the steps in the journal as
// people may read it (see [journal.Shown]), and hides m's secrets too. Without such an attempt the
// error wraps fs.ErrNotExist.
func (s Source) Read(m *mask.Masker) (*View, error) {
	_, v, h, err := s.load(m, shown)
	if err != nil {
		return nil, err
	}
	if v == nil {
		t, err := results.ReadTrajectory(s.Dir, s.Instance, h, m)
		if err != nil {
			return nil, err
		}
		v = viewOf(t)
		v.Unmasked = h.Unmasked
	}
	if h != nil {
		v.complete(h, m)
	}
	if v.Patch = patchIn(h); v.Patch == nil {
		v.Patch = v.patchOfInfo()
	}
	return v, nil
}

// read reads the file, which must belong to the attempt.
func (s Source) read(path string, h *journal.History, m *mask.Masker) (*View, error) {
	v, err := ReadFile(path, m)
	if err != nil {
		return nil, err
	}
	other := h != nil && v.Attempt != h.Attempt || s.File == "" && s.Attempt >= 0 && v.Attempt != s.Attempt
	if other && !strings.HasSuffix(path, string(filepath.Separator)+"0.json") {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return v, nil
}

// Raw returns the trajectory's text: from the file if the attempt has ended, otherwise from
// the journal so far.
func (s Source) Raw(m *mask.Masker) ([]byte, error) {
	path, v, h, err := s.load(nil, shown)
	switch {
	case err != nil:
		return nil, err
	case v != nil:
		return regular.ReadFile(path)
	}
	var b bytes.Buffer
	err = results.WriteTrajectory(&b, s.Dir, s.Instance, h.Attempt, m)
	return b.Bytes(), err
}

// Patch returns the attempt's submission, byte for byte, or if it did not submit the
// salvaged patch. Without either the error is ErrNoPatch.
func (s Source) Patch() (patch []byte, salvaged bool, err error) {
	_, v, h, err := s.load(nil, exact)
	switch {
	case err != nil:
		return nil, false, err
	case patchIn(h) != nil:
		p := patchIn(h)
		return p.Text, p.Salvaged, nil
	case v != nil && v.patchOfInfo() != nil:
		p := v.patchOfInfo()
		return p.Text, p.Salvaged, nil
	}
	return nil, false, fmt.Errorf("%s: %w", s.Instance, ErrNoPatch)
}

// patchIn returns the patch in a journal; nil without a patch or a journal.
func patchIn(h *journal.History) *Patch {
	switch {
	case h == nil:
	case h.Submission != nil && len(h.Submission.Submission) > 0:
		return &Patch{h.Submission.Submission, false}
	case h.Salvage != nil && len(h.Salvage.Patch) > 0:
		return &Patch{h.Salvage.Patch, true}
	}
	return nil
}

// patchOfInfo returns the patch in the trajectory; nil without one.
func (v *View) patchOfInfo() *Patch {
	switch {
	case v.Info.Submission != "" && !(v.Record != nil && v.Record.Salvaged):
		return &Patch{[]byte(v.Info.Submission), false}
	case v.Info.Salvage != "":
		return &Patch{[]byte(v.Info.Salvage), true}
	}
	return nil
}

// reader reads an attempt from a journal; a negative number is the last one.
type reader func(path string, number int) (*journal.History, error)

func exact(path string, number int) (*journal.History, error) {
	if number > 0 {
		return journal.ReadAttempt(path, number)
	}
	return journal.ReadHistory(path)
}

func shown(path string, number int) (*journal.History, error) {
	return journal.ReadShown(path, max(0, number))
}

// Place adds the run directory's facts about the attempt that are not in its trajectory.
func (v *View) Place(snap *results.Snapshot) {
	v.Dir = snap.Dir
	model := ""
	if m := snap.Manifest; m != nil {
		v.Dataset, model = m.Dataset.Title(), m.Model
	}
	for _, r := range snap.Records {
		if r.InstanceID != v.Instance {
			continue
		}
		v.Attempts = max(v.Attempts, r.Attempt)
		if r.Attempt == v.Attempt {
			v.Record, v.Running = &r, r.Status == vocab.StatusRunning
			v.Model = cmp.Or(v.Model, r.Model, model)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadFile reads a trajectory file of batch, of mini-swe-agent or of SWE-agent, or in ATIF.
func ReadFile(path string, m *mask.Masker) (*View, error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := Parse(m.JSON(text))
	if err != nil {
		return nil, fault.New(fault.KindOf(err), "reading "+path, err)
	}
	if v.Instance == "" {
		v.Instance = instanceIn(path)
	}
	return v, nil
}

// instanceIn returns the instance that a file is named after; for Harbor's trajectory.json, a
// trial's folder.
func instanceIn(path string) string {
	if filepath.Base(path) == "trajectory.json" {
		if path = filepath.Dir(path); filepath.Base(path) == "agent" {
			path = filepath.Dir(path)
		}
		return filepath.Base(path)
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// Instances returns the ids of the instances in dir that have a trajectory or a journal, and of
// another tool's instances or trials.
func Instances(dir string) []string {
	entries, _ := os.ReadDir(dir) //nolint:errcheck // an unreadable folder has none
	var ids []string
	for _, e := range entries {
		id, isFile := strings.CutSuffix(e.Name(), ".traj")
		isFolder := regular.IsFolder(dir, e)
		if isFolder && (exists(results.TrajectoryPath(dir, id)) || exists(results.JournalPath(dir, id)) || foreignFile(dir, id) != "") || isFile && !isFolder {
			ids = append(ids, id)
		}
	}
	return slices.Compact(ids)
}

// complete adds the data of the journal that a trajectory lacks: the usage of calls, the
// durations of calls and commands, and a step that is not in the conversation yet.
func (v *View) complete(h *journal.History, m *mask.Masker) {
	replied := slices.DeleteFunc(slices.Clone(h.Steps), func(s journal.Step) bool { return s.Reply == nil })
	for i, was := range replied {
		if i == len(v.Steps) {
			v.Steps = append(v.Steps, Unfinished(i+1, was.Reply, m))
		}
		v.Steps[i].Complete(was, m)
	}
	if n := len(h.Steps); n > 0 && h.Steps[n-1].Reply == nil && h.End == nil {
		v.Asked = h.Steps[n-1].Asked
	}
}

// Unfinished returns a step with a reply that is not in the conversation yet. Secrets are
// hidden in it.
func Unfinished(number int, r *journal.ReplyData, m *mask.Masker) Step {
	reply := gjson.ParseBytes(m.JSON(r.Message))
	text := textOf(reply)
	s := Step{Mark: journal.Mark{Number: number}, Reply: -1, Thought: text, Reasoning: reasoningOf(reply), Actions: actionsOf(reply, gjson.Result{}, text)}
	for _, a := range s.Actions {
		s.Thought = WithoutCommand(s.Thought, a.Command)
	}
	return s
}

// Complete adds the data of the journal about the step that a trajectory lacks: the usage
// and the duration of its call, and the durations of its commands. was must have a reply.
func (s *Step) Complete(was journal.Step, m *mask.Masker) {
	r := was.Reply
	s.Cost, s.Priced, s.Asked, s.Seconds, s.Waited, s.Limited = r.Cost, r.Priced || r.Cost > 0, was.Asked, r.Seconds, r.Waited, r.RateLimited()
	s.used(&r.Usage)
	for i := range s.Actions {
		if i < len(was.Actions) {
			s.Actions[i].complete(was.Actions[i].Output, m)
		}
	}
}

// complete fills in the journal's data about a started command.
func (a *Action) complete(out *journal.OutputData, m *mask.Masker) {
	if out == nil {
		a.State = Running
		return
	}
	a.Seconds = out.Seconds
	if a.Exit == nil {
		exit := out.ExitCode
		a.Exit = &exit
	}
	if a.State == Unknown || a.State == Running {
		a.State = Done
		a.printed(string(m.Bytes(out.Kept)), max(0, out.Total-int64(len(out.Kept))))
	}
}
