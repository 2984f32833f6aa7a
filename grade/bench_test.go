package grade_test

import (
	"strings"
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
)

// BenchmarkJudge judges the largest real log of django, with its own tests and with one that it
// does not have, for which the log is searched for a reason.
func BenchmarkJudge(b *testing.B) {
	logs, rows := realLogs(b), verified(b)
	id := ""
	for name, l := range logs {
		if strings.HasPrefix(name, "django") && (id == "" || len(l["test_output.txt"]) > len(logs[id]["test_output.txt"])) {
			id = name
		}
	}
	in, log := rows[id], string(logs[id]["test_output.txt"])
	row := logparse.Row{InstanceID: in.ID, Repo: in.Repo, Version: in.Version}
	b.SetBytes(int64(len(log)))
	for _, c := range []struct {
		name  string
		tests grade.Tests
	}{{"found", grade.Tests{FailToPass: in.FailToPass, PassToPass: in.PassToPass}}, {"lost", grade.Tests{FailToPass: []string{"nowhere (x.y)"}, PassToPass: in.PassToPass}}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := grade.Judge(grade.Log{Text: []byte(log)}, parser(in.LogParser, row, logparse.V5), c.tests, in.EvalType, logparse.V5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
