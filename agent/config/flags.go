package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"
)

// RunFlags are the arguments of docker run that mean something here. Zero
// values leave the engine's default.
type RunFlags struct {
	Memory, MemorySwap, ShmSize int64 // bytes; MemorySwap -1 is no limit
	Disk                        int64 // bytes, of environment.disk alone
	CPUs                        float64
	Pids                        int64 // -1 is no limit
	Network, Platform, User     string
	Env                         map[string]string
	ForwardEnv                  []string // -e NAME without a value
	CapAdd, CapDrop             []string
	SecurityOpt                 []string
	ExtraHosts                  []string // name:address
	Mounts                      []Mount
	Tmpfs                       map[string]string // options by path
	Ulimits                     []string          // as docker run takes them
	ReadOnly                    bool              // the image's files
	Pull                        string            // always, missing or never; empty: missing
}

// Mount is a directory or file of this machine that containers may read.
type Mount struct{ Source, Target string } // absolute paths

// parse reads args over f as docker run would.
func (f *RunFlags) parse(args []string) error {
	fs := f.set()
	err := fs.Parse(args)
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("holds %s %q: %w", dashed(bad.GetFlag().Name), MaskSpec(bad.GetValue()), errors.Unwrap(err))
	}
	if none, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("ends with %s, which needs a value", dashed(none.GetSpecifiedName()))
	}
	if err == nil && fs.NArg() > 0 {
		return fmt.Errorf("holds %q, expected a flag", MaskSpec(fs.Arg(0)))
	}
	if err == nil {
		return nil
	}
	what := "what is not a flag"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		what = dashed(unknown.GetSpecifiedName())
	}
	return fmt.Errorf("holds %s, which batch does not know: expected --memory, --memory-swap, --cpus, --pids-limit, "+
		"--shm-size, --network, --platform, --user, --env, --cap-add, --cap-drop, --security-opt, --add-host, "+
		"--volume, --tmpfs, --ulimit, --read-only or --pull", what)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// set has every flag that means something.
func (f *RunFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("run_args", pflag.ContinueOnError)
	fs.Usage = func() {} // --help is an unknown flag here
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "net" {
			name = "network"
		}
		return pflag.NormalizedName(name)
	})
	for _, name := range []string{"rm", "init"} { // batch does so anyway
		fs.BoolFunc(name, "", always)
	}
	fs.BoolFuncP("detach", "d", "", always)
	bytes := func(to *int64) func(string) error {
		return func(v string) (err error) { *to, err = parseBytes(v); return err }
	}
	fs.FuncP("memory", "m", "", bytes(&f.Memory))
	fs.Func("memory-swap", "", bytes(&f.MemorySwap))
	fs.Func("shm-size", "", bytes(&f.ShmSize))
	fs.Func("cpus", "", func(v string) (err error) { f.CPUs, err = positive(v); return err })
	fs.Func("pids-limit", "", func(v string) (err error) { f.Pids, err = strconv.ParseInt(v, 10, 64); return err })
	fs.StringVar(&f.Network, "network", f.Network, "")
	fs.Func("platform", "", func(v string) error {
		if !strings.Contains(v, "/") {
			return errors.New("expected os/arch such as linux/amd64")
		}
		f.Platform = v
		return nil
	})
	fs.StringVarP(&f.User, "user", "u", f.User, "")
	fs.FuncP("env", "e", "", f.setEnv)
	fs.StringArrayVar(&f.CapAdd, "cap-add", f.CapAdd, "")
	fs.StringArrayVar(&f.CapDrop, "cap-drop", f.CapDrop, "")
	fs.StringArrayVar(&f.SecurityOpt, "security-opt", f.SecurityOpt, "")
	fs.StringArrayVar(&f.ExtraHosts, "add-host", f.ExtraHosts, "")
	fs.FuncP("volume", "v", "", f.addMount)
	fs.Func("tmpfs", "", func(v string) error {
		target, options, _ := strings.Cut(v, ":")
		if err := f.checkTarget(target); err != nil {
			return err
		}
		if f.Tmpfs == nil {
			f.Tmpfs = map[string]string{}
		}
		f.Tmpfs[path.Clean(target)] = options
		return nil
	})
	fs.Func("ulimit", "", func(v string) error {
		f.Ulimits = append(f.Ulimits, v)
		_, err := units.ParseUlimit(v)
		return err
	})
	fs.BoolVar(&f.ReadOnly, "read-only", f.ReadOnly, "")
	fs.Func("pull", "", func(v string) error {
		if f.Pull = v; !slices.Contains([]string{"always", "missing", "never"}, v) {
			return errors.New("expected always, missing or never")
		}
		return nil
	})
	return fs
}

// addMount reads HOST:DIR:ro. Which directories may not be mounted depends on the machine: see package
// sandbox.
func (f *RunFlags) addMount(v string) error {
	source, rest, _ := strings.Cut(v, ":")
	target, mode, _ := strings.Cut(rest, ":")
	switch {
	case !path.IsAbs(source):
		return errors.New("expected HOST:DIR:ro, with the absolute path of a directory or file of this machine")
	case mode != "ro":
		return errors.New("what is mounted into containers that run a model's commands is read only: end it with :ro")
	}
	if err := f.checkTarget(target); err != nil {
		return err
	}
	f.Mounts = append(f.Mounts, Mount{path.Clean(source), path.Clean(target)})
	return nil
}

// checkTarget refuses a place in a container where batch or the kernel has its own files, all are, or
// something else is.
func (f *RunFlags) checkTarget(target string) error {
	clean := path.Clean(target)
	first, _, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	if !path.IsAbs(target) || clean == "/" || clean == "/dev" || strings.HasPrefix(clean, "/dev/batch") || first == "proc" || first == "sys" {
		return fmt.Errorf("%q cannot be a directory in the container for it: expected an absolute path, not /dev, /proc or /sys", target)
	}
	_, taken := f.Tmpfs[clean]
	if taken || slices.ContainsFunc(f.Mounts, func(m Mount) bool { return m.Target == clean }) {
		return fmt.Errorf("%q is given twice", target)
	}
	return nil
}

func always(v string) error {
	if v != "true" {
		return errors.New("batch always sets this flag")
	}
	return nil
}

func (f *RunFlags) setEnv(v string) error {
	name, text, given := strings.Cut(v, "=")
	switch {
	case name == "":
		return errors.New("a variable needs a name")
	case !given:
		f.ForwardEnv = append(f.ForwardEnv, name)
	default:
		if f.Env == nil {
			f.Env = map[string]string{}
		}
		f.Env[name] = text
	}
	return nil
}

func parseBytes(v string) (int64, error) {
	if v == "-1" {
		return -1, nil
	}
	return units.RAMInBytes(v)
}

func positive(v string) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err == nil && (f <= 0 || math.IsInf(f, 0) || math.IsNaN(f)) {
		err = errors.New("expected a number above 0")
	}
	return f, err
}

// parseSleep reads a duration as the program sleep does: numbers with s, m, h or d, which
// are added. Infinity and an empty text mean no limit.
func parseSleep(text string) (time.Duration, error) {
	var sum float64
	for _, part := range strings.Fields(text) {
		if part == "inf" || part == "infinity" {
			return 0, nil
		}
		unit, digits := 1.0, part
		if i := strings.IndexByte("smhd", part[len(part)-1]); i >= 0 {
			unit, digits = []float64{1, 60, 3600, 86400}[i], part[:len(part)-1]
		}
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil || !(f > 0) || f*unit > math.MaxInt64/float64(time.Second) {
			return 0, fmt.Errorf("is %q, expected a time such as 90m, 2h or 1d", text)
		}
		sum += f * unit
	}
	return time.Duration(sum * float64(time.Second)), nil
}
