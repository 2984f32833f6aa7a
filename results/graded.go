package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/grades"
)

// grading has the grades in a store's directory.
type grading struct {
	mu      sync.Mutex
	log     *grades.Log // once it was asked for
	changed bool        // results.parquet may be behind
	read    bool        // list and quarantined have been read
	list    []grades.Grade
	outside []string // the quarantined instances
}

// Grades returns the log of grades, open for appending until the store is closed. Closing
// the store also adds new grades to results.parquet.
func (s *Store) Grades() (*grades.Log, error) {
	if err := s.check("opening " + grades.File); err != nil {
		return nil, err
	}
	g := &s.grading
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.log != nil {
		return g.log, nil
	}
	log, err := grades.Open(s.dir, grades.Options{Files: s.files, Mask: s.mask})
	if err != nil {
		return nil, err
	}
	for _, note := range log.Recovered() {
		s.log.Load().Warn(note)
	}
	g.log, g.changed = log, true
	return log, nil
}

// Quarantine replaces the list of instances that are left out of all rates by text, in the
// form of quarantine.txt: see package grades. It is durable on return.
func (s *Store) Quarantine(text []byte) error {
	if err := s.check("writing " + grades.QuarantineFile); err != nil {
		return err
	}
	ids, err := grades.ParseQuarantine(grades.QuarantineFile, string(text))
	if err != nil {
		return err
	}
	s.readGrades()
	err = s.files.Write(filepath.Join(s.dir, grades.QuarantineFile), 0o644, atomicfile.Bytes(text))
	if err != nil {
		return atomicfile.Fault("writing "+grades.QuarantineFile, err)
	}
	s.grading.mu.Lock()
	defer s.grading.mu.Unlock()
	s.grading.outside, s.grading.changed = ids, true
	return nil
}

// readGrades returns all grades and the quarantined instances. A file that cannot be read
// is reported once, and the other results are still returned.
func (rd *Reader) readGrades() (list []grades.Grade, quarantined []string) {
	g := &rd.grading
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.read {
		g.read = true
		var err error
		if g.outside, err = grades.Quarantined(rd.dir); err != nil {
			rd.damaged(fmt.Sprintf("no instance counts as quarantined: %v", err))
		}
		if g.log == nil {
			if g.list, err = grades.Read(rd.dir); err != nil {
				rd.damaged(fmt.Sprintf("%s, those before the damage: %v", printable.Count(len(g.list), "grade is counted", "grades are counted"), err))
			}
		}
	}
	if g.log != nil {
		return g.log.All(), g.outside
	}
	return g.list, g.outside
}

// joinGrades gives each record the grade of its prediction.
func (rd *Reader) joinGrades(records []Record) {
	list, quarantined := rd.readGrades()
	for i := range records {
		r := &records[i]
		r.Grade, r.Resolved = nil, nil
		_, r.Quarantined = slices.BinarySearch(quarantined, r.InstanceID)
	}
	if len(list) == 0 {
		return
	}
	latest := grades.Latest(list)
	byAttempt := map[grades.Prediction]grades.Grade{} // whatever the patch
	for _, g := range list {
		p := g.Prediction()
		byAttempt[grades.Prediction{InstanceID: p.InstanceID, Attempt: p.Attempt}] = latest[p]
	}
	standing := rd.standing()
	for i := range records {
		r := &records[i]
		p := grades.Prediction{InstanceID: r.InstanceID, Attempt: r.Attempt}
		g, found := byAttempt[p]
		if last := standing[r.InstanceID]; r.Attempt == 0 || r.Attempt >= last.number {
			p.Patch = last.patch
			g, found = latest[p]
			found = found && last.known && last.foreign == (r.Attempt == 0)
		}
		if !found || r.Excused() { // an earlier version graded these
			continue
		}
		r.Grade = &g
		if !r.Quarantined {
			r.Resolved = g.Resolved()
		}
	}
}

// standingPrediction is the entry of preds.json for an instance.
type standingPrediction struct {
	known   bool   // there is an entry
	foreign bool   // of another tool
	patch   string // its grades.PatchDigest
	number  int    // of the instance's last attempt
}

func (rd *Reader) standing() map[string]standingPrediction {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	all := map[string]standingPrediction{}
	for id, in := range rd.instances {
		all[id] = standingPrediction{number: in.number}
	}
	for id, p := range rd.preds.entries {
		e := all[id]
		e.known, e.foreign, e.patch = true, p.foreign != nil, p.patch
		all[id] = e
	}
	return all
}

// patchDigests returns [Snapshot.Patches].
func (rd *Reader) patchDigests() map[string]string {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	digests := make(map[string]string, len(rd.preds.entries))
	for id, p := range rd.preds.entries {
		digests[id] = p.patch
	}
	return digests
}

// closeGrades closes the log, if it is open, and reports whether results.parquet may be
// behind.
func (s *Store) closeGrades() (changed bool, err error) {
	g := &s.grading
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.log != nil {
		err = g.log.Close()
	}
	return g.changed, err
}
