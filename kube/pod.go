package kube

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// The names in a pod.
const (
	taskName   = "task"
	helperName = "helper"
	filesName  = "files"
	helperDir  = "/dev/batch"
	partsDir   = "/dev/batch-parts"
	program    = helperDir + "/init"

	podPrefix = "batch-"

	managed = "app.kubernetes.io/managed-by=batch" // selects what batch made
)

// The labels, which select pods, and the annotations, which may have any text.
const (
	labelManaged  = "app.kubernetes.io/managed-by"
	labelRun      = "batch.run"
	labelUnplug   = "batch.network" // "none" for a pod that a NetworkPolicy isolates
	noteOwner     = "batch.owner"   // see package owner
	noteImage     = "batch.image"
	noteExpires   = "batch.expires" // RFC 3339
	noteWorkDir   = "batch.workdir"
	noteUnattend  = "batch.unattended" // a time.Duration
	noteAdopter   = "batch.adopter"
	networkNone   = "none"
	hostName      = "sandbox"
	sidecarMemory = "32Mi"
	sidecarCPU    = "10m"
	backstop      = 24 * time.Hour // of activeDeadlineSeconds, after the helper's own end
)

// check refuses a Spec with something that pods do not have.
func check(s engine.Spec) error {
	const op = "creating a pod"
	if err := s.Check(op); err != nil {
		return err
	}
	switch {
	case len(s.SecurityOpt) > 0:
		return fault.Newf(fault.Usage, "%s: environment.run_args: --security-opt is not possible on Kubernetes", op)
	case len(s.Mounts) > 0:
		return fault.Newf(fault.Usage, "%s: environment.run_args: -v is not possible on Kubernetes: pods have no directories of this machine", op)
	case len(s.Tmpfs)+len(s.Ulimits) > 0 || s.ReadOnly:
		return fault.Newf(fault.Usage, "%s: environment.run_args: --tmpfs, --ulimit and --read-only are not possible on Kubernetes", op)
	case s.Files.Folder != "":
		return fault.Newf(fault.Usage, "%s: agent.program.files: pods have no directories of this machine", op).
			WithHint("name an image with the files of %s", s.Files.Folder)
	case len(s.Volumes) > 0:
		return fault.Newf(fault.Bug, "%s: volumes are not possible on Kubernetes", op)
	}
	return nil
}

// name returns a random name: an agent can look up the name of its pod, and must not learn the
// instance's id.
func name() string { return podPrefix + strings.ToLower(rand.Text()[:20]) }

// plan has what a pod is made from beside its Spec.
type plan struct {
	name                    string
	spec                    engine.Spec
	image                   string // its image, by digest if that is known
	owner                   owner.Owner
	key                     wire.Key
	arch                    string
	parts                   []string // ConfigMaps with the helper
	helperImage, helperFile string   // or an image with it, and its name there
	parent                  *metav1.OwnerReference
	unplug                  bool // the helper takes the network down
	extra                   *template
	now                     time.Time
	runner                  *runner
}

// pod returns the pod to create.
func (p plan) pod() (*corev1.Pod, error) {
	s := p.spec
	no, root, deadline := false, int64(0), int64(0)
	always := corev1.ContainerRestartPolicyAlways
	user, group, err := account(s.User)
	if err != nil {
		return nil, err
	}
	adds, drops := engine.Grants(s.CapAdd, s.CapDrop)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: p.labels(), Annotations: p.notes()},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			TerminationGracePeriodSeconds: new(int64), Hostname: hostName,
			NodeSelector: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": p.arch},
			Volumes:      p.volumes(),
			InitContainers: []corev1.Container{{
				Name: helperName, Image: p.image, ImagePullPolicy: corev1.PullIfNotPresent, RestartPolicy: &always,
				Command: []string{"bash", "-c", p.script()}, WorkingDir: "/",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(sidecarMemory), corev1.ResourceCPU: resource.MustParse(sidecarCPU)},
				},
				Lifecycle: &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
					Command: []string{"bash", "-c", "until [ -e " + program + " ]; do sleep 0.02; done"},
				}}},
				SecurityContext:          p.sidecarSecurity(&no, &root),
				VolumeMounts:             p.partMounts(),
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
			Containers: []corev1.Container{{
				Name: taskName, Image: p.image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{program},
				Env: p.env(), Resources: p.limits(),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, RunAsUser: user, RunAsGroup: group,
					Capabilities: &corev1.Capabilities{Add: capabilities(adds), Drop: capabilities(drops)},
				},
				VolumeMounts: p.taskMounts(),
			}},
		},
	}
	if p.parent != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*p.parent}
	}
	if s.Unattended > 0 {
		deadline = int64((s.Unattended + backstop).Seconds())
		pod.Spec.ActiveDeadlineSeconds = &deadline
	}
	if pod.Spec.HostAliases, err = aliases(s.ExtraHosts); err != nil {
		return nil, err
	}
	p.extra.apply(pod)
	tellLimit(&pod.Spec.Containers[0])
	return pod, nil
}

// library is the folder of [Helper].
const library = "/usr/local/lib/batch"

// script puts the helper together under another name, takes the network down if asked, and gives the
// helper its name, for which the pod waits.
func (p plan) script() string {
	var b strings.Builder
	b.WriteString("set -e; d=" + helperDir + "; if [ ! -e $d/init ]; then cat")
	for i := range p.parts {
		fmt.Fprintf(&b, " %s/%d/part", partsDir, i)
	}
	if p.helperImage != "" {
		b.WriteString(" " + partsDir + p.helperFile)
	}
	b.WriteString(" >$d/.init; chmod 755 $d/.init; ")
	if p.unplug {
		b.WriteString("$d/.init " + wire.UnplugWord + fmt.Sprintf(" || exit %d; ", wire.ExitUnplug))
	}
	b.WriteString("ln $d/.init $d/init; fi; exec $d/init " + wire.HoldWord)
	return b.String()
}

func (p plan) sidecarSecurity(no *bool, root *int64) *corev1.SecurityContext {
	c := &corev1.SecurityContext{
		AllowPrivilegeEscalation: no, RunAsUser: root, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if p.unplug {
		c.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
	}
	return c
}

func (p plan) volumes() []corev1.Volume {
	list := []corev1.Volume{{Name: "helper", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	for i, part := range p.parts {
		list = append(list, corev1.Volume{Name: fmt.Sprintf("part-%d", i), VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: part}},
		}})
	}
	if p.helperImage != "" {
		list = append(list, corev1.Volume{Name: "library", VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: p.helperImage, PullPolicy: corev1.PullIfNotPresent},
		}})
	}
	if image := p.spec.Files.Image; image != "" {
		list = append(list, corev1.Volume{Name: filesName, VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: corev1.PullIfNotPresent},
		}})
	}
	if p.spec.ShmSize > 0 {
		list = append(list, corev1.Volume{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: resource.NewQuantity(p.spec.ShmSize, resource.BinarySI),
		}}})
	}
	return list
}

func (p plan) partMounts() []corev1.VolumeMount {
	list := []corev1.VolumeMount{{Name: "helper", MountPath: helperDir}}
	for i := range p.parts {
		list = append(list, corev1.VolumeMount{Name: fmt.Sprintf("part-%d", i), MountPath: fmt.Sprintf("%s/%d", partsDir, i), ReadOnly: true})
	}
	if p.helperImage != "" {
		list = append(list, corev1.VolumeMount{Name: "library", MountPath: partsDir, ReadOnly: true})
	}
	return list
}

func (p plan) taskMounts() []corev1.VolumeMount {
	list := []corev1.VolumeMount{{Name: "helper", MountPath: helperDir, ReadOnly: true}}
	if p.spec.Files.Image != "" {
		list = append(list, corev1.VolumeMount{Name: filesName, MountPath: engine.FilesDir, ReadOnly: true})
	}
	if p.spec.ShmSize > 0 {
		list = append(list, corev1.VolumeMount{Name: "shm", MountPath: "/dev/shm"})
	}
	return list
}

func (p plan) env() []corev1.EnvVar {
	list := make([]corev1.EnvVar, 0, len(p.spec.Env)+2)
	for _, v := range p.spec.Env {
		name, value, _ := strings.Cut(v, "=")
		// Kubernetes replaces $(NAME) in a value, and two dollars by one.
		list = append(list, corev1.EnvVar{Name: name, Value: strings.ReplaceAll(value, "$", "$$")})
	}
	list = append(list, corev1.EnvVar{Name: wire.KeyVariable, Value: hex.EncodeToString(p.key[:])})
	return list
}

// tellLimit tells the helper the memory limit that the pod has in the end.
func tellLimit(task *corev1.Container) {
	if most := task.Resources.Limits.Memory().Value(); most > 0 {
		task.Env = append(task.Env, corev1.EnvVar{Name: wire.MemoryVariable, Value: strconv.FormatInt(most, 10)})
	}
}

// minimumCPU is the share of a processor that a pod reserves: an agent waits for its model most of the
// time.
const minimumCPU = 0.1

func (p plan) limits() corev1.ResourceRequirements {
	s := p.spec
	r := corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}}
	if s.Memory > 0 {
		r.Limits[corev1.ResourceMemory] = *resource.NewQuantity(s.Memory, resource.BinarySI)
		r.Requests[corev1.ResourceMemory] = r.Limits[corev1.ResourceMemory]
	}
	if s.CPUs > 0 {
		r.Limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(s.CPUs*1000), resource.DecimalSI)
	}
	r.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(1000*minimumCPU), resource.DecimalSI)
	if s.CPUs > 0 && s.CPUs < minimumCPU {
		r.Requests[corev1.ResourceCPU] = r.Limits[corev1.ResourceCPU]
	}
	if s.Disk > 0 {
		r.Limits[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(s.Disk, resource.BinarySI)
	}
	return r
}

func (p plan) labels() map[string]string {
	l := map[string]string{
		labelManaged: "batch", labelRun: value(p.spec.Labels[engine.LabelRun]),
		engine.LabelInstance: value(p.spec.Labels[engine.LabelInstance]), engine.LabelAttempt: value(p.spec.Labels[engine.LabelAttempt]),
	}
	if noNetwork(p.spec.Network) && !p.unplug {
		l[labelUnplug] = networkNone
	}
	return l
}

func (p plan) notes() map[string]string {
	s := p.spec
	n := maps.Clone(s.Labels)
	if n == nil {
		n = map[string]string{}
	}
	n[noteOwner], n[noteImage], n[noteWorkDir] = p.owner.String(), s.Image, s.WorkDir
	if p.runner != nil {
		n[noteRunner] = p.runner.mark()
	}
	if s.Unattended > 0 {
		n[noteUnattend], n[noteExpires] = s.Unattended.String(), p.now.Add(s.Unattended).UTC().Format(time.RFC3339)
	}
	return n
}

// value makes a text the value of a label, which has at most 63 letters, digits, dots, dashes and
// underscores. A text that has to be changed gets a part of its hash.
func value(text string) string {
	const longest = 63
	valid := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r) {
			return r
		}
		return '_'
	}, text)
	trimmed := strings.Trim(valid, "_.-")
	if trimmed == text && len(text) <= longest {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	kept := strings.TrimRight(trimmed[:min(len(trimmed), longest-9)], "_.-")
	return strings.TrimLeft(fmt.Sprintf("%s-%x", kept, sum[:4]), "-")
}

func noNetwork(network string) bool { return network == "" || network == networkNone }

// account returns the ids in a user, uid or uid:gid; nil means the image's.
func account(user string) (uid, gid *int64, err error) {
	if user == "" {
		return nil, nil, nil
	}
	u, g, both := strings.Cut(user, ":")
	id, err := strconv.ParseInt(u, 10, 64)
	uid = &id
	if err == nil && both {
		var group int64
		group, err = strconv.ParseInt(g, 10, 64)
		gid = &group
	}
	if err != nil {
		return nil, nil, fault.Newf(fault.Usage, "creating a pod: user %q: Kubernetes needs numbers, as uid or uid:gid", user)
	}
	return uid, gid, nil
}

func capabilities(names []string) []corev1.Capability {
	list := make([]corev1.Capability, len(names))
	for i, n := range names {
		list[i] = corev1.Capability(strings.TrimPrefix(strings.ToUpper(n), "CAP_"))
	}
	return list
}

// aliases are hosts in the form name:address.
func aliases(hosts []string) ([]corev1.HostAlias, error) {
	var list []corev1.HostAlias
	for _, h := range hosts {
		name, ip, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fault.Newf(fault.Usage, "creating a pod: host %q: expected name:address", h)
		}
		at := slices.IndexFunc(list, func(a corev1.HostAlias) bool { return a.IP == ip })
		if at < 0 {
			list = append(list, corev1.HostAlias{IP: ip})
			at = len(list) - 1
		}
		list[at].Hostnames = append(list[at].Hostnames, name)
	}
	return list, nil
}
