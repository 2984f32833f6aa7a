package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/python"
	"batch.example/batch/internal/regular"
	"batch.example/batch/vocab"
)

// File is its name in the run directory.
const File = "manifest.json"

// Version is the version of manifest.json that this package writes.
const Version = 2

// Manifest is the content of manifest.json: the request and the facts about the runs. It
// has no secrets; the caller keeps them out of Config and Argv.
type Manifest struct {
	Format   int              `json:"format_version"`
	Batch    string           `json:"batch_version"` // with the revision it was built from
	Go       string           `json:"go_version,omitempty"`
	Git      *Git             `json:"git,omitempty"` // of Dir; nil if it is not a working tree, or unknown
	Created  time.Time        `json:"created"`
	Command  string           `json:"command,omitempty"` // of batch: run, grade, select, chat, attach or serve
	Argv     []string         `json:"argv"`              // of the last `batch run`, without the program's name; for people
	Dir      string           `json:"dir,omitempty"`     // the folder that it was started in
	Request  *Request         `json:"request,omitempty"` // of the last `batch run`, or of the conversation; nil: unknown
	Model    string           `json:"model"`
	ModelIDs []string         `json:"model_ids,omitempty"`      // as the provider returned them, sorted
	Versions []string         `json:"agent_versions,omitempty"` // of the programs that were the agent, sorted
	Price    *vocab.Price     `json:"price,omitempty"`          // nil if the provider reports costs, or calls are free
	Seed     int64            `json:"seed"`
	Salvage  bool             `json:"salvage,omitempty"`            // the working tree's diff stands in for a missing submission
	Factor   float64          `json:"timeout_multiplier,omitempty"` // of the time limits of task folders; 0: 1
	Config   any              `json:"config"`                       // resolved: every default filled in
	Prompts  string           `json:"prompts,omitempty"`            // where they come from
	Dataset  Dataset          `json:"dataset"`
	Host     Host             `json:"host"`
	Images   map[string]Image `json:"images,omitempty"` // by instance id
	Runs     []Run            `json:"runs"`             // in order; a run that crashed has no end

	// Mixed has the differences that affect results and were accepted while results of the
	// earlier settings stayed: one for each name, with its latest values.
	Mixed []Difference `json:"mixed,omitempty"`
}

// Git is the state of a git working tree.
type Git struct {
	Commit string `json:"commit"` // "(initial)" before the first commit
	Branch string `json:"branch"` // "(detached)" without a branch
	Dirty  bool   `json:"dirty"`  // tracked files were changed
}

// Dataset describes a dataset and the selection from it.
type Dataset struct {
	Name      string `json:"name"`
	Split     string `json:"split,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Digest    string `json:"digest,omitempty"` // of the files read, before selection
	Selection string `json:"selection,omitempty"`
	Count     int    `json:"count"` // instances selected

	Instances []string `json:"instances,omitempty"` // their ids, in order
}

// Mix adds to m the mixed differences of earlier, and the differences that are accepted
// now.
func (m *Manifest) Mix(earlier *Manifest, accepted []Difference) {
	m.Mixed = slices.Clone(earlier.Mixed)
	for _, d := range accepted {
		m.Mixed = slices.DeleteFunc(m.Mixed, func(old Difference) bool { return old.Name == d.Name })
		m.Mixed = append(m.Mixed, d)
	}
}

// Add adds the directory's earlier selection to d, with earlier's instances first.
func (d *Dataset) Add(earlier Dataset) {
	all := slices.Clone(earlier.Instances)
	known := map[string]bool{}
	for _, id := range all {
		known[id] = true
	}
	for _, id := range d.Instances {
		if !known[id] {
			all = append(all, id)
		}
	}
	switch len(all) {
	case len(earlier.Instances):
		d.Selection = earlier.Selection
	case len(d.Instances): // earlier adds nothing to d
	default:
		d.Selection = earlier.Selection + ", then " + d.Selection
	}
	d.Instances, d.Count = all, len(all)
}

// Title names the dataset and the split, if it has one: "demo (split test)".
func (d Dataset) Title() string {
	if d.Split == "" {
		return d.Name
	}
	return d.Name + " (split " + d.Split + ")"
}

// Host is the machine that the run was started on.
type Host struct {
	Name string `json:"hostname"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// Image is the image that an instance ran in.
type Image struct {
	Ref    string `json:"ref"`
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Run is one command that worked in the directory.
type Run struct {
	Started      time.Time  `json:"started"`
	Ended        *time.Time `json:"ended,omitempty"`
	Argv         []string   `json:"argv,omitempty"`             // for people
	CostLimit    float64    `json:"cost_limit_total,omitempty"` // US dollars; 0: no limit
	CostShare    float64    `json:"cost_limit_shard,omitempty"` // the part of CostLimit for this shard; 0: it is not divided
	Engines      []string   `json:"engines,omitempty"`          // the addresses of engines that were named
	MaskPatterns []string   `json:"mask_patterns,omitempty"`    // patterns that it hid, beside the configuration's
}

// OnlyGraded reports whether `batch grade` made the directory from predictions, or `batch
// select` made it: then no agent worked there, and the manifest has no agent's settings.
func (m *Manifest) OnlyGraded() bool { return m.Command == "grade" || m.Command == "select" }

// Talk returns the command that made the directory for a conversation: chat, attach or
// serve; empty: another command made it.
func (m *Manifest) Talk() string {
	switch m.Command {
	case "chat", "attach", "serve":
		return m.Command
	}
	return ""
}

// CostLimit returns the limit in US dollars of the last command, which may differ from the
// request's.
func (m *Manifest) CostLimit() float64 {
	switch {
	case len(m.Runs) > 0:
		return m.Runs[len(m.Runs)-1].CostLimit
	case m.Request != nil:
		return m.Request.CostLimit
	}
	return 0
}

// MaskPatterns returns the regular expressions that the configuration and all commands hid,
// sorted.
func (m *Manifest) MaskPatterns() []string {
	var patterns []string
	config, _ := m.Config.(map[string]any)
	run, _ := config["run"].(map[string]any)
	list, _ := run["mask_patterns"].([]any)
	for _, p := range list {
		patterns = append(patterns, fmt.Sprint(p))
	}
	if m.Request != nil {
		patterns = append(patterns, m.Request.MaskPatterns...)
	}
	for _, r := range m.Runs {
		patterns = append(patterns, r.MaskPatterns...)
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// Read reads the manifest of a run directory. A missing manifest is fs.ErrNotExist; a broken one or one
// of another format version is a Usage fault.
func Read(dir string) (*Manifest, error) {
	path := filepath.Join(dir, File)
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, atomicfile.Fault("reading the manifest", err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fault.New(fault.Usage, "reading "+path, err)
	}
	if err := CheckFormat(path, m.Format, Version); err != nil {
		return nil, err
	}
	return &m, nil
}

// CheckFormat returns a Usage fault if the file at path, of a run or a sweep, has a format version that is
// not want. A file without a version has 0.
func CheckFormat(path string, version, want int) error {
	is := "newer"
	switch {
	case version == want:
		return nil
	case version < want:
		is = "older"
	}
	return fault.Newf(fault.Usage, "reading %s: format version %d is %s than %d", path, version, is, want).
		WithHint("another version of batch wrote this directory: use that version, or another output directory")
}

// Hidden returns m with its secrets hidden. Matches of patterns are hidden only in what people wrote: the
// program reads the rest again, and its times and digests may look like what a pattern matches.
func (m *Manifest) Hidden(secrets *mask.Masker) (*Manifest, error) {
	h, err := hidden(*m, secrets.Literals())
	parts := []error{err}
	add := func(err error) { parts = append(parts, err) }
	h.Argv, err = hidden(h.Argv, secrets)
	add(err)
	h.Request, err = hidden(h.Request, secrets)
	add(err)
	h.Config, err = hidden(h.Config, secrets)
	add(err)
	h.Mixed, err = hidden(h.Mixed, secrets)
	add(err)
	for i := range h.Runs {
		h.Runs[i].Argv, err = hidden(h.Runs[i].Argv, secrets)
		add(err)
	}
	if err := errors.Join(parts...); err != nil {
		return nil, fault.New(fault.Bug, "hiding secrets in the manifest", err)
	}
	return &h, nil
}

// hidden returns v with secrets hidden in its strings.
func hidden[T any](v T, secrets *mask.Masker) (out T, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(secrets.JSON(text), &out)
	}
	return out, err
}

// Text returns the content of m's file, indented for people. It sets the format version.
func (m *Manifest) Text() ([]byte, error) {
	m.Format = Version
	text, err := python.Compact(m)
	var b bytes.Buffer
	if err == nil {
		err = json.Indent(&b, text, "", "  ")
	}
	if err != nil {
		return nil, fault.New(fault.Bug, "encoding the manifest", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
