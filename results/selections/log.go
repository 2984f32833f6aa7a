package selections

import (
	"path/filepath"
	"slices"
	"sync"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
)

// File is the name of the file.
const File = "selection.jsonl"

// damaged says what to do about a damaged file.
const damaged = "select again into another directory"

// typeSelection is the type of its records.
const typeSelection = "selection"

// Latest returns the selection that counts of each instance.
func Latest(list []Selection) map[string]Selection {
	last := map[string]Selection{}
	for _, s := range list {
		last[s.InstanceID] = s
	}
	return last
}

// Log is the file of a directory, open for appending. Its methods are safe for concurrent
// use.
type Log struct {
	mask *mask.Masker
	log  *journal.Log

	mu  sync.Mutex
	all []Selection
}

// Options are the options of [Open]; the zero value works.
type Options struct {
	Files atomicfile.Files // asked before every write and fsync; for tests
	Mask  *mask.Masker     // hides secrets in texts; nil hides nothing
}

// Open reads the file in dir for appending, and creates it if it does not exist. The caller owns
// the directory.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{mask: o.Mask}
	var err error
	l.log, err = journal.OpenLog(filepath.Join(dir, File), journal.LogOptions{Files: o.Files, Public: true, Hint: damaged}, taking(&l.all))
	return l, err
}

// Recovered describes what Open removed after a crash, one text for each removal.
func (l *Log) Recovered() []string { return l.log.Recovered() }

// Add appends a selection, durably, with the secrets in its texts hidden.
func (l *Log) Add(s Selection) error {
	s.Why, s.Stderr = l.mask.Text(s.Why), l.mask.Text(s.Stderr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.log.Add(journal.Entry{Type: typeSelection, Data: s}); err != nil {
		return err
	}
	l.all = append(l.all, s)
	return nil
}

// All returns all selections. The caller may change the list, but not the data that it refers to.
func (l *Log) All() []Selection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// Close makes each later addition fail.
func (l *Log) Close() error { return l.log.Close() }

// Read returns the selections in dir, in the order of the file; none if there is no file. It takes no lock.
// A damaged line is an error with its number.
func Read(dir string) (list []Selection, err error) {
	err = journal.ReadLog(filepath.Join(dir, File), damaged, taking(&list))
	return list, err
}

// taking adds each selection to list. Records of other types, such as a judge's replies in directories of
// earlier versions, are left out.
func taking(list *[]Selection) func(journal.Record, journal.Place) error {
	return func(record journal.Record, _ journal.Place) error {
		if record.Type != typeSelection {
			return nil
		}
		s, err := journal.Decode[Selection](record)
		if err == nil {
			*list = append(*list, s)
		}
		return err
	}
}

// Selection is the attempt that was chosen for an instance.
type Selection struct {
	InstanceID string `json:"instance_id"`
	// Key identifies everything that the choice depends on: the selector and the candidates.
	Key     string `json:"key"`
	By      string `json:"by"`      // "majority" or "program"; in directories of earlier versions also "tests" and "judge"
	Decided string `json:"decided"` // likewise; "majority" if there was nothing to choose
	Why     string `json:"why"`     // for a person: "3 of 4 attempts made this patch"

	Attempt int    `json:"attempt"`      // the chosen one, from 1
	Dir     string `json:"dir"`          // its run directory
	Patch   string `json:"patch_sha256"` // the PatchDigest (package grades) of its model_patch

	Candidates []Candidate `json:"candidates"` // all attempts, in order
	Choices    int         `json:"choices"`    // different patches among which the selector had to choose

	AttemptsCost *float64 `json:"attempts_cost"` // US dollars of all attempts; null if the cost of one is unknown

	Program string `json:"program_sha256,omitempty"` // digest of the program that decided
	Stderr  string `json:"stderr,omitempty"`         // the end of what it wrote to standard error
}

// Candidate is one attempt at an instance.
type Candidate struct {
	Attempt int      `json:"attempt"`
	Dir     string   `json:"dir"`
	Patch   string   `json:"patch_sha256"`       // empty: the patch is empty, or there is none
	Cost    *float64 `json:"cost"`               // US dollars; null: not known
	LeftOut string   `json:"left_out,omitempty"` // why it could not be chosen: "infrastructure", "no result"
	Votes   int      `json:"votes"`              // attempts with the same patch
}
