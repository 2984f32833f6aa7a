package vocab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxID keeps "<id>.traj.json" within the 255 bytes that file systems take as a name.
const maxID = 200

// ownFiles are the files and folders of the run directory itself. No instance's folder may
// have one of these names.
var ownFiles = []string{
	"preds.json", "exit_statuses.yaml", "results.parquet", "manifest.json", "batch.log",
	"grades.jsonl", "quarantine.txt", "notes.jsonl", "logs", "control.jsonl", "control.sock", "detach.log",
}

// asideFiles are the beginnings of the names of files that were moved or copied aside.
var asideFiles = []string{
	"preds.json.corrupt-", "preds.json.original-", "grades.jsonl.corrupt-", "notes.jsonl.corrupt-", "control.jsonl.corrupt-",
}

// CheckID refuses an instance id that is not a valid folder name, since each instance
// gets a folder. The error continues a sentence about the id: "is empty".
func CheckID(id string) error {
	lower := strings.ToLower(id) // the file system may ignore case
	switch {
	case id == "":
		return errors.New("is empty")
	case len(id) > maxID:
		return fmt.Errorf("is longer than %d bytes", maxID)
	case id[0] == '.':
		return errors.New("begins with a dot")
	case slices.Contains(ownFiles, lower), slices.ContainsFunc(asideFiles, func(name string) bool { return strings.HasPrefix(lower, name) }):
		return errors.New("is the name of one of the run directory's own files")
	case strings.ContainsAny(id, "/\\\x00\n"):
		return errors.New("contains a slash, a backslash, a NUL or a newline")
	}
	return nil
}

// Image is the identity of a container image.
type Image struct {
	Ref    string `json:"image"`            // as requested; empty in an engine's list of its images
	ID     string `json:"id,omitempty"`     // sha256:..., of its configuration, or of its manifest in containerd's image store
	Digest string `json:"digest,omitempty"` // sha256:..., of its manifest in its registry; empty if built locally
}
