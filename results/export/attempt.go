package export

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"unicode/utf8"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

// attempt has the data that an output writes.
type attempt struct {
	about     About
	view      *trajectory.View
	chats     [][]trajectory.Chat // of each of the view's messages
	tools     []Tool
	reasoning bool // is exported
}

// About identifies an attempt and says how it ended. It is the member "metadata" of a chat
// line and "extra" of an ATIF file. All members are always present; null: unknown.
type About struct {
	Instance    string    `json:"instance_id"`
	Repo        *string   `json:"repo"`
	License     *string   `json:"license"` // of the repository, as the dataset's row names it
	Dataset     *string   `json:"dataset"`
	Split       *string   `json:"split"`
	Revision    *string   `json:"revision"` // of the dataset
	Run         string    `json:"run"`
	Attempt     int       `json:"attempt"` // 0: of another tool
	Model       *string   `json:"model"`
	ModelID     *string   `json:"model_id"` // as the provider returned it
	ExitStatus  string    `json:"exit_status"`
	Outcome     string    `json:"outcome"`
	Resolved    *bool     `json:"resolved"` // null: no verdict counts
	Steps       int       `json:"steps"`
	Cost        *float64  `json:"cost"` // US dollars
	Refused     int       `json:"refused_replies"`
	Rewrites    []Rewrite `json:"rewrites"` // of the messages that the model was sent
	Patch       *string   `json:"patch"`    // null: there is none, or it is not text
	PatchBase64 *string   `json:"patch_base64"`
	Salvaged    bool      `json:"salvaged"` // the patch was not submitted: it is the working tree's diff
}

// Rewrite says that, from a step on, the model was sent shorter messages in place of some of
// the original ones.
type Rewrite struct {
	Step     int    `json:"step"`
	Policy   string `json:"policy"`
	Messages int    `json:"messages"` // how many were replaced
	Before   int64  `json:"tokens_before"`
	After    int64  `json:"tokens_after"`
}

// load reads an attempt; nil if there is no trajectory, or no reply of a model in it.
func (o Options) load(run Run, r results.Record) (*attempt, error) {
	source := trajectory.Source{Dir: run.Snapshot.Dir, Instance: r.InstanceID, Attempt: r.Attempt}
	if _, err := os.Stat(results.JournalPath(source.Dir, source.Instance)); r.Attempt == 0 && errors.Is(err, fs.ErrNotExist) {
		source.Attempt = -1 // also batch's own, if its journals were left out
	}
	v, err := source.Read(o.Mask)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(v.Steps) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if v.Patch == nil {
		v.Patch = &trajectory.Patch{}
	} else if bytes.Contains(v.Patch.Text, []byte(mask.Hidden)) {
		if v.Patch.Text, v.Patch.Salvaged, err = source.Patch(); err != nil {
			return nil, err
		}
	}
	v.Place(run.Snapshot)
	if !o.Reasoning {
		for i := range v.Steps {
			v.Steps[i].Reasoning = ""
		}
	}
	return o.attemptOf(run, r, v), nil
}

func (o Options) attemptOf(run Run, r results.Record, v *trajectory.View) *attempt {
	a := &attempt{about: aboutOf(run, r, v), view: v, reasoning: o.Reasoning, chats: make([][]trajectory.Chat, len(v.Messages))}
	for i, m := range v.Messages {
		a.chats[i] = trajectory.ReadChat(m)
	}
	a.tools = o.offered(a)
	return a
}

func aboutOf(run Run, r results.Record, v *trajectory.View) About {
	if own := v.Record; own != nil && r.Attempt == 0 {
		r.Repo, r.License, r.ModelID, r.Attempt = own.Repo, own.License, own.ModelID, own.Attempt
	}
	a := About{
		Instance: r.InstanceID, Repo: known(r.Repo), License: known(r.License), Run: run.Name, Attempt: r.Attempt,
		Model: known(v.Model), ModelID: known(r.ModelID), ExitStatus: string(r.Status), Outcome: string(r.Outcome),
		Resolved: r.Resolved, Steps: len(v.Steps), Rewrites: []Rewrite{},
		Salvaged: v.Patch.Salvaged,
	}
	a.setPatch(v.Patch.Text)
	if m := run.Snapshot.Manifest; m != nil {
		a.Dataset, a.Split, a.Revision = known(m.Dataset.Name), known(m.Dataset.Split), known(m.Dataset.Revision)
	}
	if r.Attempt > 0 || r.Cost > 0 {
		a.Cost = &r.Cost
	}
	for _, s := range v.Steps {
		if s.Refused {
			a.Refused++
		}
		a.Rewrites = append(a.Rewrites, rewritesOf(s)...)
	}
	return a
}

func rewritesOf(s trajectory.Step) (list []Rewrite) {
	for _, w := range s.Rewrites {
		list = append(list, Rewrite{s.Number, w.Policy, w.Messages, w.Before, w.After})
	}
	return list
}

func (a *About) setPatch(patch []byte) {
	if utf8.Valid(patch) {
		a.Patch = known(string(patch))
	} else {
		a.PatchBase64 = known(base64.StdEncoding.EncodeToString(patch))
	}
}

// known returns nil for an empty text.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
