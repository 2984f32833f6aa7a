package manifest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/mask"
)

// Request describes a run: the resolved flags of `batch run`. It is enough to run the same
// again, in any process and any working directory. The zero value of a member means that its
// flag was not given, unless [NewRequest] sets another default.
//
// Paths are absolute. Settings may have relative ones (the script of a played model, a price
// registry, the program of an MCP server): these start in Dir.
type Request struct {
	// Dir is the folder in which the command was started.
	Dir string `json:"dir,omitempty"`
	// Output is the run directory. It is not in the file, because the file is in it.
	Output string `json:"-"`

	Subset        string   `json:"subset,omitempty"` // an alias, the id of a dataset on the hub, or a path or pattern
	Split         string   `json:"split,omitempty"`
	Revision      string   `json:"revision,omitempty"`
	Assets        string   `json:"assets,omitempty"` // folder with ID/problem_assets
	Filter        string   `json:"filter,omitempty"`
	Slice         string   `json:"slice,omitempty"`
	InstancesFile string   `json:"instances_file,omitempty"` // "-" is standard input
	Shard         string   `json:"shard,omitempty"`
	Shuffle       bool     `json:"shuffle,omitempty"`
	Seed          int64    `json:"seed"`
	Named         []string `json:"named,omitempty"` // ids that narrow the selection
	// Only has the ids to select, in place of the selection by the members above, in the
	// dataset's order; nil has no effect. Also has additional ids. Neither is in the file.
	Only []string `json:"-"`
	Also []string `json:"-"`

	Configuration

	Salvage       bool     `json:"salvage,omitempty"`
	Grade         bool     `json:"grade,omitempty"`
	Workers       int      `json:"workers"`                 // 0: chosen by the engine
	GradeWorkers  int      `json:"grade_workers,omitempty"` // 0: chosen by the engine
	EngineWait    float64  `json:"engine_wait_seconds"`
	CostLimit     float64  `json:"cost_limit_total,omitempty"` // US dollars; 0: no limit
	Retry         []string `json:"retry,omitempty"`            // KIND=N, over the default ones
	Durability    string   `json:"durability"`
	MaskPatterns  []string `json:"mask_patterns,omitempty"`
	Record        bool     `json:"record,omitempty"`
	Replay        string   `json:"replay,omitempty"` // a run directory
	ReplayChanged bool     `json:"replay_changed,omitempty"`

	TaskEnv           []string `json:"task_env,omitempty"`           // names of variables of the host that tasks may read
	TimeoutMultiplier float64  `json:"timeout_multiplier,omitempty"` // of all time limits of tasks; 0: 1

	ImagePrefix string `json:"image_prefix,omitempty"`
	DiskBudget  int64  `json:"disk_budget_bytes,omitempty"` // 0: no limit
	DiskReserve int64  `json:"disk_reserve_bytes"`
	Prefetch    int    `json:"prefetch"` // images
	Pulls       int    `json:"pulls"`    // at the same time
	Order       string `json:"order"`    // of instances: [OrderGrouped] or [OrderGiven]
}

// Configuration has the members of a [Request] that make the configuration.
type Configuration struct {
	Configs             []string `json:"configs,omitempty"` // as -c has them, from left to right
	Model               string   `json:"model,omitempty"`
	ModelClass          string   `json:"model_class,omitempty"`
	EnvironmentClass    string   `json:"environment_class,omitempty"`
	Engines             []string `json:"engines,omitempty"` // addresses
	Network             string   `json:"network,omitempty"`
	Memory              string   `json:"memory,omitempty"`
	Disk                string   `json:"disk,omitempty"`
	CPUs                string   `json:"cpus,omitempty"`
	KeepGitHistory      bool     `json:"keep_git_history,omitempty"`
	AllowCommitMismatch bool     `json:"allow_commit_mismatch,omitempty"`
}

// The orders of instances: grouped by shared images, or as in the dataset.
const (
	OrderGrouped = "grouped"
	OrderGiven   = "given"
)

// NewRequest returns a request with the defaults of `batch run`.
func NewRequest() Request {
	return Request{
		Subset: "lite", Seed: 42, Workers: 4, EngineWait: 300, Durability: "power",
		DiskReserve: 1e9, Prefetch: 4, Pulls: 4, Order: OrderGrouped,
	}
}

// Secret returns a value of r with a hidden secret; "" if there is none. A request with a
// hidden secret cannot be run again.
func (r *Request) Secret() string {
	text, _ := json.Marshal(r) //nolint:errcheck // it has only texts, numbers and lists
	var members map[string]any
	_ = json.Unmarshal(text, &members)
	return hiddenIn(members)
}

func hiddenIn(v any) string {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, mask.Hidden) {
			return v
		}
	case []any:
		for _, member := range v {
			if found := hiddenIn(member); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := hiddenIn(v[name]); found != "" {
				return found
			}
		}
	}
	return ""
}
