// Package removed says what to use in place of the commands, flags, configuration keys and values that
// batch had once. Where one of them is used, its line is the answer.
package removed

import "strings"

// instead has a line for each name: a command ("batch diff"), its flag ("batch export --board"), a key
// of the configuration ("agent.x"), or a key with a value ("agent.x=y").
var instead = map[string]string{
	"batch diff":                      "`batch compare A B --list` has both sides' steps, cost and patches of the instances on which they differ, `batch compare A B --json` their settings too",
	"batch note":                      group + "; a notes.jsonl stays where it lies",
	"batch compare --by":              group,
	"batch serve --client-ca":         "callers have bearer tokens: --token-file",
	"batch serve --push-allow":        "nothing is pushed: a caller follows its task with message/stream or tasks/resubscribe",
	"batch serve --caller-cost-limit": "--cost-limit-total limits the cost of all callers together",
	"batch select --by=tests":         chosenByTests,
	"batch select --by=judge":         chosenByJudge,
	"batch select --model":            chosenByJudge,
	"batch select -m":                 chosenByJudge,
	"batch select -c":                 chosenByTests,
	"batch select --judge-template":   chosenByJudge,
	"batch select --seed":             chosenByJudge,
	"batch select --cost-limit-total": chosenByJudge,
	"batch select --parser":           chosenByTests,
	"batch select --eval-script":      chosenByTests,
	"batch select --engine":           chosenByTests,
	"batch select --memory":           chosenByTests,
	"batch select --cpus":             chosenByTests,
	"batch select --disk":             chosenByTests,
	"batch select --network":          chosenByTests,
	"batch select --image-prefix":     chosenByTests,
	"batch select --disk-budget":      chosenByTests,
	"batch select --disk-reserve":     chosenByTests,
	"batch select --prefetch":         chosenByTests,
	"batch select --pulls":            chosenByTests,
	"batch select --order":            chosenByTests,
	"batch select --engine-wait":      chosenByTests,
	"batch select --config":           chosenByTests,
	"batch select --retry":            "the same command asks about the instances without a selection again",
	"batch models --against":          "`batch models --json` prints the prices, to compare with those of any file",
	"batch export --leaderboard":      submission,
	"batch export --sb-cli":           "sb-cli takes the preds.json of a run directory as it is",
	"batch export --board":            submission,
	"batch export --name":             submission,
	"batch export --site":             submission,
	"batch export --report":           submission,
	"batch export --authors":          submission,
	"batch export --org":              submission,
	"batch export --os-model":         submission,
	"batch export --os-system":        submission,
	"batch export --model":            submission,
	"batch export --logo":             submission,
	"batch export --artifacts":        submission,

	"agent.context_policy=summarize": "use shorten or drop, which call no model; the same `batch run` with one of them and `--accept-changes` starts unfinished attempts of a directory from the beginning",
	"agent.summary_template":         "the model writes no summaries; agent.context_policy is shorten or drop",
}

const (
	chosenByTests = "`--by PROGRAM` runs a program of yours: `batch help sweeps` has one that runs tests on each candidate"
	chosenByJudge = "`--by PROGRAM` runs a program of yours: `batch help sweeps` has one that asks a model"
)

const group = "keep the ids of a group of instances in a file: `batch help sweeps` shows how its rate is had from results.parquet"

const submission = "the leaderboard's repository takes no folders any more; preds.json, the trajectories and the logs of grading are in the run directory"

// Instead returns what to use in place of name, and "" where batch never had it.
func Instead(name string) string { return instead[strings.TrimSpace(name)] }
