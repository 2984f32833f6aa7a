package selecting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/selections"
)

// Write writes the selected predictions into the directory, with the trajectories and
// grades of the chosen attempts. It can be called again.
func (s *Selecting) Write() error {
	model := s.model()
	if _, err := swebench.ModelDir(model); err != nil {
		return fault.New(fault.Usage, "naming the predictions", err)
	}
	var list []results.Prediction
	for _, c := range s.all {
		if c.decided == nil {
			continue
		}
		p := c.patches[c.decided.Attempt]
		patch := p.Patch
		if p.Attempt > 0 { // batch's own text has the same effect, and was graded
			patch = []byte(p.Text)
		}
		list = append(list, results.Prediction{InstanceID: c.id, Model: model, Said: p.Said, Patch: patch}.WithText())
		if err := s.writeTrajectory(c); err != nil {
			return err
		}
	}
	if err := s.store.Import(list); err != nil {
		return err
	}
	if err := s.writeManifest(); err != nil {
		return err
	}
	if err := s.copyQuarantine(); err != nil {
		return err
	}
	return s.copyGrades(model)
}

// model returns the model name of the predictions: the attempts' name if they have the same
// one.
func (s *Selecting) model() string {
	names := map[string]bool{}
	name := ""
	for _, c := range s.all {
		for _, p := range c.patches {
			if p.Model != "" {
				name = p.Model
				names[name] = true
			}
		}
	}
	if len(names) == 1 {
		return name
	}
	return fmt.Sprintf("best-of-%d", len(s.Attempts))
}

// checkManifest refuses the directory of a run or of another dataset.
func (s *Selecting) checkManifest() error {
	old, known := s.store.Manifest()
	switch {
	case !known:
		return nil
	case !old.OnlyGraded():
		return fault.Newf(fault.Usage, "%s is the directory of a run", s.Output).WithHint("choose another directory with -o")
	case s.About != nil && s.About.Dataset.Digest != old.Dataset.Digest:
		return fault.Newf(fault.Usage, "%s has predictions for another dataset: %s", s.Output, old.Dataset.Title()).WithHint("choose another directory with -o")
	}
	return nil
}

// writeManifest writes the manifest, or adds this call to an existing one.
func (s *Selecting) writeManifest() error {
	m, known := s.store.Manifest()
	if s.About == nil {
		return nil
	}
	now := time.Now().UTC()
	if !known {
		m = s.About
	} else {
		for _, id := range s.About.Dataset.Instances {
			if !slices.Contains(m.Dataset.Instances, id) {
				m.Dataset.Instances = append(m.Dataset.Instances, id)
			}
		}
		m.Dataset.Count = len(m.Dataset.Instances)
		m.Runs = append(m.Runs, s.About.Runs...)
	}
	m.Runs[len(m.Runs)-1].Ended = &now
	return s.store.WriteManifest(m)
}

// copyQuarantine copies the attempts' lists of quarantined instances, unless the directory has a
// list of its own.
func (s *Selecting) copyQuarantine() error {
	if _, err := os.Stat(filepath.Join(s.Output, grades.QuarantineFile)); err == nil {
		return nil
	}
	var all []string
	for _, a := range s.Attempts {
		ids, err := grades.Quarantined(a.Path)
		if err != nil {
			return err
		}
		all = append(all, ids...)
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return s.store.Quarantine([]byte(strings.Join(slices.Compact(all), "\n") + "\n"))
}

// copyGrades copies the grades of the chosen patches, from the chosen attempt or another one with
// the same patch.
func (s *Selecting) copyGrades(model string) error {
	lists := make([][]grades.Grade, len(s.Attempts))
	for i, a := range s.Attempts {
		var err error
		if lists[i], err = grades.Read(a.Path); err != nil {
			return err
		}
	}
	log, err := s.store.Grades()
	if err != nil {
		return err
	}
	have := grades.Latest(log.All())
	for _, c := range s.all {
		if c.decided == nil {
			continue
		}
		key := grades.Prediction{InstanceID: c.id, Patch: c.decided.Patch}
		if have[key].Verdict.Counts() {
			continue
		}
		for _, g := range gradesOf(c, lists) {
			g.Attempt, g.Model, g.Log = 0, model, ""
			if err := log.Add(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// gradesOf returns the grades of the chosen patch that count: from the chosen attempt if it
// has any, otherwise from the first attempt with the same patch.
func gradesOf(c *choice, lists [][]grades.Grade) []grades.Grade {
	numbers := []int{c.decided.Attempt}
	for _, candidate := range c.all {
		if candidate.Attempt != c.decided.Attempt && candidate.Patch == c.decided.Patch && c.patches[candidate.Attempt].InstanceID != "" {
			numbers = append(numbers, candidate.Attempt)
		}
	}
	for _, n := range numbers {
		of := grades.Prediction{InstanceID: c.id, Attempt: c.patches[n].Attempt, Patch: c.decided.Patch}
		if !grades.Latest(lists[n-1])[of].Verdict.Counts() {
			continue
		}
		return slices.DeleteFunc(slices.Clone(lists[n-1]), func(g grades.Grade) bool { return g.Prediction() != of })
	}
	return nil
}

// writeTrajectory writes the chosen attempt's trajectory, with the cost of all attempts. If that
// cost is unknown, it writes no cost: other tools could not know that it is only a part.
func (s *Selecting) writeTrajectory(c *choice) error {
	d := c.decided
	if c.cost == nil {
		return nil
	}
	from := s.Attempts[d.Attempt-1].Path // where it is now
	text, err := trajectory(results.TrajectoryPath(from, c.id), results.ModelStats{
		Cost: *c.cost, Calls: c.steps,
	}, d)
	if err != nil || text == nil {
		return err
	}
	path := results.TrajectoryPath(s.Output, c.id)
	if err := results.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	err = atomicfile.Files{}.Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(s.Store.Mask.JSON(text))
		return err
	})
	return atomicfile.Fault("writing the trajectory of "+c.id, err)
}

// trajectory returns the text of the file with another cost; nil if there is no file. An
// unreadable file is also left out: only the prediction matters.
func trajectory(path string, stats results.ModelStats, d *selections.Selection) ([]byte, error) {
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, atomicfile.Fault("reading a trajectory", err)
	}
	var whole, info map[string]json.RawMessage
	if json.Unmarshal(text, &whole) != nil || json.Unmarshal(whole["info"], &info) != nil || info == nil {
		return nil, nil
	}
	for name, v := range map[string]any{
		"model_stats": stats,
		"selection":   map[string]any{"by": d.By, "decided": d.Decided, "why": d.Why, "attempt": d.Attempt, "attempts": len(d.Candidates)},
	} {
		if info[name], err = json.Marshal(v); err != nil {
			return nil, fault.New(fault.Bug, "writing a trajectory", err)
		}
	}
	if whole["info"], err = json.Marshal(info); err == nil {
		text, err = json.Marshal(whole)
	}
	if err != nil {
		return nil, fault.New(fault.Bug, "writing a trajectory", err)
	}
	return append(text, '\n'), nil
}

// Close completes the files of the directory and unlocks it. It may be called twice.
func (s *Selecting) Close() error {
	return errors.Join(s.log.Close(), s.store.Close())
}
