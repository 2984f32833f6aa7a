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

// attempt finds the attempt in its journal; nil if there is none.
func (s Source) attempt() (*journal.Attempt, error) {
	if s.File != "" || s.Attempt == 0 {
		return nil, nil
	}
	x, err := journal.NewIndex(results.JournalPath(s.Dir, s.Instance))
	if err == nil {
		var a *journal.Attempt
		if a, err = x.Attempt(s.Attempt); err == nil {
			return a, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// path returns the path of the attempt's file, which exists after the attempt has ended.
func (s Source) path() string {
	if s.File != "" {
		return s.File
	}
	if earlier := results.EarlierTrajectory(s.Dir, s.Instance, s.Attempt); s.Attempt >= 0 && exists(earlier) {
		return earlier
	}
	return s.foreignOr(results.TrajectoryPath(s.Dir, s.Instance))
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

// Read reads the whole attempt, for people. It takes no lock. It reads the journal as people may read it
// (see [journal.Shown]), and hides m's secrets too. It reads the attempt's file, in which the run hid
// secrets, if there is no journal, if the journal is damaged, or if an older version of batch, which left
// secrets in journals, made an attempt that has ended. Without such an attempt the error wraps fs.ErrNotExist.
func (s Source) Read(m *mask.Masker) (*View, error) {
	a, err := s.attempt()
	var v *View
	if a != nil {
		if v, err = viewIn(a, s.Instance, m); err == nil && !(a.Unmasked && a.Ended()) {
			return v, nil
		}
		s.Attempt = a.Number
	}
	of, fileErr := s.file(m)
	if fileErr == nil {
		return of, nil
	}
	if v == nil && err == nil {
		err = fileErr
	}
	return v, err
}

// file reads the attempt's file.
func (s Source) file(m *mask.Masker) (*View, error) {
	path := s.path()
	v, err := ReadFile(path, m)
	if err != nil {
		return nil, err
	}
	if s.File == "" && s.Attempt >= 0 && v.Attempt != s.Attempt && !strings.HasSuffix(path, string(filepath.Separator)+"0.json") {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return v, nil
}

// Raw returns the trajectory's text: from the file if the attempt has ended, otherwise from
// the journal so far.
func (s Source) Raw(m *mask.Masker) ([]byte, error) {
	a, err := s.attempt()
	if a != nil {
		s.Attempt = a.Number
	}
	if a == nil || a.Ended() {
		_, fileErr := s.file(nil)
		if fileErr == nil {
			return regular.ReadFile(s.path())
		}
		if a == nil {
			return nil, cmp.Or(err, fileErr)
		}
	}
	var b bytes.Buffer
	err = results.WriteTrajectory(&b, s.Dir, s.Instance, a.Number, m)
	return b.Bytes(), err
}

// Patch returns the attempt's submission, byte for byte, or if it did not submit the
// salvaged patch. Without either the error is ErrNoPatch.
func (s Source) Patch() (patch []byte, salvaged bool, err error) {
	a, err := s.attempt()
	if a != nil {
		s.Attempt = a.Number
		patch, salvaged, err = a.ExactPatch()
	}
	if patch == nil && (a == nil || err != nil) {
		v, fileErr := s.file(nil)
		if v == nil {
			return nil, false, cmp.Or(err, fileErr)
		}
		if err = nil; v.Patch != nil {
			patch, salvaged = v.Patch.Text, v.Patch.Salvaged
		}
	}
	if patch == nil && err == nil {
		err = fmt.Errorf("%s: %w", s.Instance, ErrNoPatch)
	}
	return patch, salvaged, err
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

// unfinished returns a step with a reply that is not in the conversation yet. Secrets are
// hidden in it.
func unfinished(number int, r *journal.ReplyData, m *mask.Masker) Step {
	reply := gjson.ParseBytes(m.JSON(r.Message))
	text := textOf(reply)
	s := Step{Mark: journal.Mark{Number: number}, Reply: -1, Thought: text, Reasoning: reasoningOf(reply), Actions: actionsOf(reply, gjson.Result{}, text)}
	for _, a := range s.Actions {
		s.Thought = WithoutCommand(s.Thought, a.Command)
	}
	return s
}

// complete adds the data of the journal about the step that a trajectory lacks: the usage
// and the duration of its call, and the durations of its commands. was must have a reply.
func (s *Step) complete(was journal.Step, m *mask.Masker) {
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
