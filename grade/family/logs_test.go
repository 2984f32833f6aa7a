package family_test

import (
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/grade/family"
)

func TestSavedLogsNeedNoScript(t *testing.T) {
	for name, tt := range map[string]struct {
		in   dataset.Instance
		want string // the parser; "": none
	}{
		"by column":                        {dataset.Instance{LogParser: "parse_log_gotest"}, "parse_log_gotest"},
		"by repository":                    {dataset.Instance{Repo: "django/django", Version: "99.0", TestPatch: "diff --git a/x b/x\n"}, "parse_log_django"},
		"by repository, without the patch": {dataset.Instance{Repo: "sympy/sympy"}, "parse_log_sympy"},
		"unknown":                          {dataset.Instance{Repo: "a/b"}, ""},
		"a name that is none":              {dataset.Instance{LogParser: "parse_log_x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.ID, tt.in.FailToPass = "a__b-1", []string{"t"}
			if _, err := family.Find(tt.in, family.Options{}); err == nil {
				t.Error("it could run without a script")
			}
			task, err := family.Find(tt.in, family.Options{LogsOnly: true})
			if (err == nil) != (tt.want != "") || err == nil && task.Parser != tt.want {
				t.Errorf("got %+v, %v; want %s", task, err, tt.want)
			}
		})
	}
}
