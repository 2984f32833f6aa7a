package results

import (
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// Record is the outcome of one attempt at one instance: the end of the attempt in
// the journal, and with few changes a [Row] of results.parquet.
type Record struct {
	InstanceID string        `json:"instance_id"`
	Repo       string        `json:"repo,omitempty"`    // of the dataset's row: owner/name
	License    string        `json:"license,omitempty"` // of the repository, where the dataset's row names one
	Attempt    int           `json:"attempt"`           // from 1, over all runs into the directory
	Status     vocab.Status  `json:"exit_status"`
	Outcome    vocab.Outcome `json:"outcome"`
	Blame      string        `json:"blame,omitempty"` // a fault.Kind's name; empty for a result
	Error      string        `json:"error,omitempty"` // of a result: the message of the provider or the container that ended it
	Model      string        `json:"model"`           // as requested: model_name_or_path
	ModelID    string        `json:"model_id,omitempty"`

	AgentVersion string `json:"agent_version,omitempty"` // of a program that is the agent, in its own words

	Image       string      `json:"image,omitempty"`
	ImageID     string      `json:"image_id,omitempty"`
	ImageDigest string      `json:"image_digest,omitempty"` // in its registry; empty for a local one
	Engine      string      `json:"engine,omitempty"`       // its address, if it was named
	Steps       int         `json:"steps"`                  // model calls, billed ones included
	Usage       vocab.Usage `json:"usage"`
	Cost        float64     `json:"cost"` // US dollars of answered calls

	Unanswered      // calls that are not in Cost
	PatchBytes int  `json:"patch_bytes"`
	Salvaged   bool `json:"salvaged,omitempty"` // the prediction is the working tree's diff
	// How often the attempt was resumed after a crash or a stop, and how many of its
	// actions had another output when they ran again.
	Resumed     int `json:"resumed,omitempty"`
	Differences int `json:"differences,omitempty"`
	Said        int `json:"said,omitempty"` // messages of people that the agent was sent while it worked

	Started time.Time `json:"started"`
	Time    Phases    `json:"seconds"`

	// These are not in the journal; they come from package grades. Resolved is nil if the
	// instance is quarantined or no verdict counts; Grade may then still have the reason.
	Resolved    *bool         `json:"resolved,omitempty"`
	Grade       *grades.Grade `json:"grade,omitempty"` // nil: not graded
	Quarantined bool          `json:"quarantined,omitempty"`

	// Replaced says that this is another tool's attempt, 0, and that attempts of batch have replaced
	// its prediction. It is in the bill, and counts in nothing else.
	Replaced bool `json:"replaced,omitempty"`
}

// Phases has the durations of an attempt's phases, in seconds. Pull, Start, Prepare,
// Replay, Model, Commands, Agent, Save and Finish add up to Total. Prepare, Replay,
// Backoff, Agent and Finish are zero in records of versions that did not measure them.
type Phases struct {
	Queue    float64 `json:"queue"`     // waiting for a worker, or for another attempt; before Total
	Pull     float64 `json:"pull"`      // of the image, or waiting for it
	Start    float64 `json:"start"`     // of the container, or reattaching to one
	Prepare  float64 `json:"prepare"`   // start-up command, base commit check, and waiting for the history scrub
	Replay   float64 `json:"replay"`    // recorded commands that ran again in a fresh container
	Model    float64 `json:"model"`     // in calls, RateWait and Backoff included
	RateWait float64 `json:"rate_wait"` // of Model, tries that met a rate limit and the waits after them
	Backoff  float64 `json:"backoff"`   // of Model, tries that failed otherwise and the waits after them
	Commands float64 `json:"commands"`  // of the agent
	Agent    float64 `json:"agent"`     // the agent itself: templates, parsing, the conversation
	Save     float64 `json:"save"`      // writing the journal, and making it durable
	Finish   float64 `json:"finish"`    // patch, salvage, and the wait until the removal of the container begins
	Total    float64 `json:"total"`     // without the time in which a conversation waited for a person

	// Scrub is the duration of the scrub of the git history. It runs in parallel with the
	// first call, so only ScrubWait, the first action's wait for it, is a part of Prepare.
	Scrub     float64 `json:"scrub"`
	ScrubWait float64 `json:"scrub_wait"`
}

// Measured reports whether the steps and the cost of an attempt are known. For another
// tool's prediction they are known only if its trajectory exists.
func (r Record) Measured() bool {
	return r.Attempt > 0 || r.Status != vocab.StatusUnknown && r.Status != vocab.StatusNotRun
}

// Excused reports whether r is another tool's entry that infrastructure, not its agent, left
// without a patch. The tool wrote an empty prediction, but it is in no rate and not graded.
func (r Record) Excused() bool {
	return r.Attempt == 0 && r.Outcome == vocab.OutcomeInfrastructure
}

// Unanswered counts calls of unknown cost: unanswered calls that may have been charged, and answered
// calls without a known price. The costs beside it are lower bounds.
type Unanswered struct {
	Lost     int     `json:"lost,omitempty"`     // how many
	Unpriced int     `json:"unpriced,omitempty"` // number of answered calls in Lost, in an attempt that has ended
	Held     float64 `json:"held,omitempty"`     // their possible cost, in US dollars
}

// UnansweredOf sums up the calls of attempts.
func UnansweredOf(records []Record) (u Unanswered) {
	for _, r := range records {
		u.Lost += r.Lost
		u.Unpriced += r.Unpriced
		u.Held += r.Held
	}
	return u
}

// Words counts the calls: "8 calls of unknown cost".
func (u Unanswered) Words() string {
	if u.Lost == 0 { // the journals are of a version that did not count them
		return "calls of unknown cost"
	}
	return printable.Count(u.Lost, "call", "calls") + " of unknown cost"
}

// Latest returns, by instance id, the record that counts: the last attempt's. Another
// tool's prediction in preds.json, attempt 0, counts if it is a result and the last attempt
// has no result.
func Latest(records []Record) map[string]Record {
	last := map[string]Record{}
	for _, r := range records {
		old, ok := last[r.InstanceID]
		if !r.Replaced && (!ok || supersedes(r, old)) {
			last[r.InstanceID] = r
		}
	}
	return last
}

// LatestOf returns the record of an instance in last, the result of [Latest]. An instance
// without a record is pending, with the exit status "not run".
func LatestOf(last map[string]Record, id string) Record {
	if r, ok := last[id]; ok {
		return r
	}
	return Record{InstanceID: id, Status: vocab.StatusNotRun, Outcome: vocab.OutcomePending}
}

func supersedes(r, old Record) bool {
	if (r.Attempt == 0) != (old.Attempt == 0) && r.Outcome.Final() != old.Outcome.Final() {
		return r.Outcome.Final()
	}
	return r.Attempt > old.Attempt
}

// Result has everything that an attempt produced. The store owns it after Put.
type Result struct {
	Record     Record
	Submission []byte // the agent's submission, byte for byte; nil if there is none
	Salvage    []byte // the working tree's diff, byte for byte, if the agent did not submit; nil if there is none
	Prediction string // model_patch: valid UTF-8 with the same effect as Submission
	Notes      Notes
}

// Notes has the facts in a trajectory that are neither in the record nor in the messages.
type Notes struct {
	Salvage    string              `json:"salvaged_patch,omitempty"`  // text with the same effect as Result.Salvage; empty if Salvage itself is text
	Prediction string              `json:"prediction_note,omitempty"` // why the prediction's text is not the submission's bytes
	Commit     *journal.CommitData `json:"image_commit,omitempty"`    // where the image is not at the row's base_commit
	Traceback  string              `json:"traceback,omitempty"`
}

// Row is a row of results.parquet: one attempt. Its columns are flat, and an unknown value
// is null. See the section results.parquet of the package's documentation.
type Row struct {
	InstanceID string `parquet:"instance_id"`
	Repo       string `parquet:"repo,optional"`
	License    string `parquet:"license,optional"`
	Attempt    int    `parquet:"attempt"`
	Last       bool   `parquet:"last"`
	HasResult  bool   `parquet:"has_result"`
	ExitStatus string `parquet:"exit_status"`
	Outcome    string `parquet:"outcome"`
	Blame      string `parquet:"blame,optional"`
	Error      string `parquet:"error,optional"`

	Model   string `parquet:"model,optional"`
	ModelID string `parquet:"model_id,optional"`

	AgentVersion string `parquet:"agent_version,optional"`

	Image       string `parquet:"image,optional"`
	ImageID     string `parquet:"image_id,optional"`
	ImageDigest string `parquet:"image_digest,optional"`

	Steps            *int     `parquet:"steps,optional"`
	Cost             *float64 `parquet:"cost,optional"`
	Lost             *int     `parquet:"lost,optional"`
	Held             *float64 `parquet:"held,optional"`
	Unpriced         *int     `parquet:"unpriced,optional"`
	InputTokens      *int64   `parquet:"input_tokens,optional"`
	CachedTokens     *int64   `parquet:"cached_tokens,optional"`
	CacheWriteTokens *int64   `parquet:"cache_write_tokens,optional"`
	CacheHourTokens  *int64   `parquet:"cache_write_1h_tokens,optional"`
	OutputTokens     *int64   `parquet:"output_tokens,optional"`
	ReasoningTokens  *int64   `parquet:"reasoning_tokens,optional"`

	PatchBytes  int  `parquet:"patch_bytes"`
	Salvaged    bool `parquet:"salvaged"`
	Resumed     int  `parquet:"resumed"`
	Differences int  `parquet:"differences"`
	Said        int  `parquet:"said"`

	Resolved     *bool    `parquet:"resolved,optional"`
	Verdict      string   `parquet:"verdict,optional"`
	F2PPassed    []string `parquet:"f2p_passed,optional,list"`
	F2PFailed    []string `parquet:"f2p_failed,optional,list"`
	P2PPassed    []string `parquet:"p2p_passed,optional,list"`
	P2PFailed    []string `parquet:"p2p_failed,optional,list"`
	Suspicious   []string `parquet:"suspicious,optional,list"`
	Reward       *float64 `parquet:"reward,optional"`
	Unstable     *bool    `parquet:"unstable,optional"`
	Quarantined  bool     `parquet:"quarantined"`
	Replaced     bool     `parquet:"replaced"`
	GradeSeconds *float64 `parquet:"grade_seconds,optional"`

	Started          time.Time `parquet:"started,optional,timestamp(microsecond)"`
	SecondsQueue     *float64  `parquet:"seconds_queue,optional"`
	SecondsPull      *float64  `parquet:"seconds_pull,optional"`
	SecondsStart     *float64  `parquet:"seconds_start,optional"`
	SecondsPrepare   *float64  `parquet:"seconds_prepare,optional"`
	SecondsReplay    *float64  `parquet:"seconds_replay,optional"`
	SecondsScrub     *float64  `parquet:"seconds_scrub,optional"`
	SecondsScrubWait *float64  `parquet:"seconds_scrub_wait,optional"`
	SecondsModel     *float64  `parquet:"seconds_model,optional"`
	SecondsRateWait  *float64  `parquet:"seconds_rate_wait,optional"`
	SecondsBackoff   *float64  `parquet:"seconds_backoff,optional"`
	SecondsCommands  *float64  `parquet:"seconds_commands,optional"`
	SecondsAgent     *float64  `parquet:"seconds_agent,optional"`
	SecondsSave      *float64  `parquet:"seconds_save,optional"`
	SecondsFinish    *float64  `parquet:"seconds_finish,optional"`
	SecondsTotal     *float64  `parquet:"seconds_total,optional"`

	Engine      string `parquet:"engine,optional"`
	GradeEngine string `parquet:"grade_engine,optional"`
}

// rowsOf returns a row for each record, in their order.
func rowsOf(records []Record) []Row {
	last := Latest(records)
	rows := make([]Row, len(records))
	for i, r := range records {
		rows[i] = rowOf(r, last[r.InstanceID].Attempt == r.Attempt)
	}
	return rows
}

func rowOf(r Record, last bool) Row {
	row := Row{
		InstanceID: r.InstanceID, Repo: r.Repo, License: r.License, Attempt: r.Attempt, Last: last, HasResult: r.Outcome.Final(),
		ExitStatus: string(r.Status), Outcome: string(r.Outcome), Blame: r.Blame, Error: r.Error,
		Model: r.Model, ModelID: r.ModelID, AgentVersion: r.AgentVersion, Image: r.Image, ImageID: r.ImageID, ImageDigest: r.ImageDigest,
		PatchBytes: r.PatchBytes, Salvaged: r.Salvaged, Resumed: r.Resumed, Differences: r.Differences, Said: r.Said, Started: r.Started,
		Resolved: r.Resolved, Quarantined: r.Quarantined, Replaced: r.Replaced, Engine: r.Engine,
	}
	if r.Grade != nil {
		row.setGrade(r.Grade)
	}
	if r.Measured() {
		row.Steps, row.Cost = &r.Steps, &r.Cost
	}
	if r.Attempt > 0 {
		row.Lost, row.Held, row.Unpriced = &r.Lost, &r.Held, &r.Unpriced
	}
	if r.Attempt > 0 && r.Model != "" { // neither another tool's nor cut off by a crash
		u := &r.Usage
		row.InputTokens, row.CachedTokens, row.CacheWriteTokens, row.CacheHourTokens = &u.Input, &u.Cached, &u.CacheWrite, &u.CacheHour
		row.OutputTokens, row.ReasoningTokens = &u.Output, &u.Reasoning
	}
	if t := &r.Time; t.Total > 0 {
		row.SecondsQueue, row.SecondsPull, row.SecondsStart = &t.Queue, &t.Pull, &t.Start
		row.SecondsPrepare, row.SecondsReplay = &t.Prepare, &t.Replay
		row.SecondsScrub, row.SecondsScrubWait = &t.Scrub, &t.ScrubWait
		row.SecondsModel, row.SecondsRateWait, row.SecondsBackoff = &t.Model, &t.RateWait, &t.Backoff
		row.SecondsCommands, row.SecondsAgent = &t.Commands, &t.Agent
		row.SecondsSave, row.SecondsFinish, row.SecondsTotal = &t.Save, &t.Finish, &t.Total
	}
	return row
}

func (row *Row) setGrade(g *grades.Grade) {
	row.Reward = g.Reward()
	row.Verdict, row.Unstable, row.GradeSeconds, row.GradeEngine = string(g.Verdict), &g.Unstable, &g.Time.Total, g.Engine
	row.F2PPassed, row.F2PFailed = known(g.FailToPass.Passed), known(g.FailToPass.Failed)
	row.P2PPassed, row.P2PFailed = known(g.PassToPass.Passed), known(g.PassToPass.Failed)
	row.Suspicious = known(g.Suspicious)
}

// known returns an empty list for nil, because nil would be null.
func known(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
