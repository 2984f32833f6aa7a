package evaluate

import (
	"cmp"

	"batch.example/batch/grade"
)

// MissingRunner is [grade.MissingRunner] for a job's log without results.
func MissingRunner(job Job, l grade.Log) string {
	return grade.MissingRunner(l, cmp.Or(job.Command, testCommand(job.Script)), job.Command != "")
}
