// Package removed says what to use in place of the commands, flags, configuration keys and values that
// batch had once. Where one of them is used, its line is the answer.
package removed

import (
	"slices"
	"strings"
)

// instead has the line for names: commands of batch, flags of a command, or keys of the configuration
// ("agent.x"), also with a value ("agent.x=y").
var instead = []struct{ in, names, line string }{
	{"batch", "diff", "`batch compare A B --list` has both sides' steps, cost and patches of the instances on which they differ, `batch compare A B --json` their settings too"},
	{"batch", "note", group + "; a notes.jsonl stays where it lies"},
	{"batch help", "formats results", "see `batch help run-directory`"},
	{"batch help", "grades", "see `batch help verdict-files`"},
	{"batch help", "graders", "see `batch help custom-graders`"},
	{"batch help", "data", "see `batch help training-data`"},
	{"batch compare", "--by", group},
	{"batch audit", "--detector=hard-coded --detector=task-search --detector=equal-gold", "gold-text finds the solution's text in what an attempt read, and network its searches"},
	{"batch audit", "--detector=other-instances", "helper finds what asks the engine, or batch's own files in the container"},
	{"batch serve", "--client-ca", "callers have bearer tokens: --token-file"},
	{"batch serve", "--push-allow", "nothing is pushed: a caller follows its task with message/stream or tasks/resubscribe"},
	{"batch serve", "--caller-cost-limit", "--cost-limit-total limits the cost of all callers together"},
	{"batch select", "--by=judge --model -m --judge-template --seed --cost-limit-total", byProgram + "asks a model"},
	{"batch select", "--by=tests -c --config --parser --eval-script --engine --engine-wait --memory --cpus --disk --network " +
		"--image-prefix --disk-budget --disk-reserve --prefetch --pulls --order", byProgram + "runs tests on each candidate"},
	{"batch select", "--retry", "the same command asks about the instances without a selection again"},
	{"batch models", "--against", "`batch models --json` prints the prices, to compare with those of any file"},
	{"batch export", "--sb-cli", "sb-cli takes the preds.json of a run directory as it is"},
	{
		"batch export", "--leaderboard --board --name --site --report --authors --org --os-model --os-system --model --logo --artifacts",
		"the leaderboard's repository takes no folders any more; preds.json, the trajectories and the logs of grading are in the run directory",
	},

	{"", "agent.context_policy=summarize", "use shorten or drop, which call no model; the same `batch run` with one of them and `--accept-changes` starts unfinished attempts of a directory from the beginning"},
	{"", "agent.summary_template", "the model writes no summaries; agent.context_policy is shorten or drop"},
}

const (
	byProgram = "`--by PROGRAM` runs a program of yours: `batch help sweeps` has one that "
	group     = "keep the ids of a group of instances in a file: `batch help sweeps` shows how its rate is had from results.parquet"
)

// Instead returns what to use in place of a name, such as "batch diff", "batch select --seed" or
// "agent.x=y", and "" where batch never had it.
func Instead(name string) string {
	in, last := "", strings.TrimSpace(name)
	if i := strings.LastIndex(last, " "); i >= 0 {
		in, last = last[:i], last[i+1:]
	}
	for _, r := range instead {
		if r.in == in && slices.Contains(strings.Fields(r.names), last) {
			return r.line
		}
	}
	return ""
}
