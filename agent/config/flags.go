package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
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
	Binds                       []string // host:container[:options], only where allowed
}

// ignoredFlags say what batch does anyway.
var ignoredFlags = map[string]bool{"--rm": true, "--init": true, "-d": true, "--detach": true}

// parse reads args over f as docker run would.
func (f *RunFlags) parse(args []string, allowBinds bool) error {
	for i := 0; i < len(args); i++ {
		name, v, attached := splitFlag(args[i])
		if name == "--rm" || ignoredFlags[args[i]] {
			continue
		}
		if !strings.HasPrefix(name, "-") {
			return fmt.Errorf("holds %q, expected a flag", MaskSpec(args[i]))
		}
		set := f.setter(name, allowBinds)
		if set == nil {
			return fmt.Errorf("holds %s, which batch does not know: expected --memory, --memory-swap, --cpus, "+
				"--pids-limit, --shm-size, --network, --platform, --user, --env, --cap-add, --cap-drop, --security-opt or --add-host", name)
		}
		if !attached {
			if i++; i == len(args) {
				return fmt.Errorf("ends with %s, which needs a value", name)
			}
			v = args[i]
		}
		if err := set(v); err != nil {
			return fmt.Errorf("holds %s %q: %w", name, MaskSpec(v), err)
		}
	}
	return nil
}

// splitFlag splits an argument as docker run does: a flag, and the value that
// is attached to it as in --x=value, -x=value and -xvalue.
func splitFlag(arg string) (name, value string, attached bool) {
	if strings.HasPrefix(arg, "--") || !strings.HasPrefix(arg, "-") || len(arg) <= 2 {
		return strings.Cut(arg, "=")
	}
	return arg[:2], strings.TrimPrefix(arg[2:], "="), true
}

// setter returns what stores the value of a flag, or nil for an unknown one.
func (f *RunFlags) setter(name string, allowBinds bool) func(string) error {
	word := func(to *string) func(string) error {
		return func(v string) error { *to = v; return nil }
	}
	words := func(to *[]string) func(string) error {
		return func(v string) error { *to = append(*to, v); return nil }
	}
	bytes := func(to *int64) func(string) error {
		return func(v string) (err error) { *to, err = parseBytes(v); return err }
	}
	switch name {
	case "-m", "--memory":
		return bytes(&f.Memory)
	case "--memory-swap":
		return bytes(&f.MemorySwap)
	case "--shm-size":
		return bytes(&f.ShmSize)
	case "--cpus":
		return func(v string) (err error) { f.CPUs, err = positive(v); return err }
	case "--pids-limit":
		return func(v string) (err error) { f.Pids, err = strconv.ParseInt(v, 10, 64); return err }
	case "--network", "--net":
		return word(&f.Network)
	case "--platform":
		return func(v string) error {
			if !strings.Contains(v, "/") {
				return errors.New("expected os/arch such as linux/amd64")
			}
			f.Platform = v
			return nil
		}
	case "-u", "--user":
		return word(&f.User)
	case "-e", "--env":
		return f.setEnv
	case "--cap-add":
		return words(&f.CapAdd)
	case "--cap-drop":
		return words(&f.CapDrop)
	case "--security-opt":
		return words(&f.SecurityOpt)
	case "--add-host":
		return words(&f.ExtraHosts)
	case "-v", "--volume":
		return func(v string) error {
			if !allowBinds {
				return errors.New("directories of this machine are not mounted into containers that run a model's commands")
			}
			f.Binds = append(f.Binds, v)
			return nil
		}
	default:
		return nil
	}
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

// parseSleep reads a duration as the program sleep does: a number and s, m, h
// or d, several of which add up; infinity, and nothing at all, is no limit.
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
