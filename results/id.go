package results

import (
	"fmt"
	"strings"

	"batch.example/batch/fault"
)

const maxIDBytes = 200 // leaves room for the suffixes of file names, 255 bytes in all

// checkID refuses an instance id that cannot name a folder.
func checkID(id string) error {
	var why string
	switch {
	case id == "":
		why = "is empty"
	case len(id) > maxIDBytes:
		why = fmt.Sprintf("is longer than %d bytes", maxIDBytes)
	case strings.HasPrefix(id, "."):
		why = "begins with a dot"
	case strings.ContainsAny(id, "/\\\x00\n"):
		why = "holds a slash, a backslash, a NUL or a newline"
	case reserved(id):
		why = "is the name of one of the run directory's own files"
	default:
		return nil
	}
	return fault.Newf(fault.Instance, "instance id %q %s and cannot name a folder", id, why)
}

// reserved tells the names of the directory's own files. Package dataset, which
// may not import this one, refuses the same when a row is read: change both.
func reserved(id string) bool {
	id = strings.ToLower(id) // the file system may take no note of case
	switch id {
	case predsFile, statusesFile, parquetFile, manifestFile, batchLogFile:
		return true
	}
	return strings.HasPrefix(id, predsFile+".corrupt-")
}
