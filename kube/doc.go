// Package kube gives each instance a pod of a Kubernetes cluster. The runner stays one process
// with its journal, wherever it runs: it talks to the cluster's API alone, and to no node.
//
// You may rely on this:
//
//   - Nothing has to be installed in the cluster, and the cluster needs no registry for batch.
//   - Unless environment.pod says otherwise, a pod has no service account token, no new
//     privileges, few capabilities, and nothing of its node.
//   - When a pod, its node or the API is gone, that is an error of the run, with the cluster's
//     own words, and never an output that the model reads.
//   - No command runs twice, whatever happens to the connection.
//   - Every pod names its run, instance, attempt and owner. batch clean --engine kubernetes
//     removes the pods of crashed runs by these, and nothing else.
//
// # What is in a pod
//
// The container "task" runs the task's image. Its process 1 is batch's helper, as on Docker. The
// helper comes from ConfigMaps, which hold it in parts since a ConfigMap may have 1 MiB: the
// container "helper", also of the task's image, puts the parts together in an emptyDir, which
// "task" mounts read-only at /dev/batch. The image needs bash, cat, chmod, ln and sleep for that. The
// container "helper" stays beside "task" (a sidecar: Kubernetes 1.29 or newer).
//
// # How commands get there
//
// One long-lived exec per pod carries all commands. It runs in "helper" and connects to the socket
// of process 1 of "task": an abstract socket, which belongs to the pod's network namespace, so
// both containers see it. Process 1 accepts only connections from outside its own pid namespace, so
// that no process of the task can connect, and none can see or kill the process of the exec.
//
// Attaching to process 1 would be the other way. The node writes everything that an attached
// process prints to its container log: all outputs of all commands, on the node's disk, readable
// by everybody who may read pods/log, and copied by log collectors. An exec is not logged. It takes
// longer to open (60 ms, attach 20 ms), once per pod; then both cost half a millisecond per command.
//
// When the stream is cut, as by an upgrade of the API server, batch opens another after a random
// pause, and gets the results of the commands that ended meanwhile. Each command has an id, and
// process 1 keeps its result.
//
// # Pods that wait
//
// A pod waits for a node, and for room in the quotas of its namespace. Pods of batch that run there make
// room when they end, so only when none runs does the time count: after an hour, the wait is a transient
// fault. A quota or a LimitRange that never admits such a pod ends the run at once.
//
// # Pods that end
//
// A pod is never started again: a container that Kubernetes starts again has lost its files. The
// helper prevents what it can: where the pod has a memory limit, it kills the largest process when
// 95 % are used, before the kernel kills all of them (memory.oom.group, cgroup v2). An attempt
// whose own commands used up the pod's memory or disk anyway ends as EnvironmentDestroyed. A pod that
// was deleted, evicted or preempted, or whose node is gone, is a transient fault: the attempt is
// resumed in another pod, by replay, twice; on nodes that may go at any time, give --retry transient=20.
// A pod that lost its connection ends by itself after twice environment.container_timeout plus an
// hour, as a container does; activeDeadlineSeconds is a second limit.
//
// # Network
//
// A pod without a network (--network none, the default) must not reach anything. Where the
// cluster permits NET_ADMIN, "helper" takes the network interfaces down before the task starts.
// Where it does not, a NetworkPolicy denies all traffic. A policy may be without effect, and may
// begin late, so in either case batch tries from inside the pod to reach the cluster's API and an
// address outside (port 443 of 1.1.1.1), before the first model call. If that succeeds, the run stops:
// install a network plugin that enforces policies, or allow the network with --network bridge.
//
// # What Kubernetes does not limit per pod
//
// Swap and the number of processes: the node's settings apply (podPidsLimit). --disk is
// the pod's limit of ephemeral storage, above which the node evicts it.
//
// # Settings of the pods
//
// environment.pod in a configuration is merged over batch's own pod. It may have labels (such as a
// queue's: kueue.x-k8s.io/queue-name), annotations, nodeSelector, tolerations, affinity,
// runtimeClassName, priorityClassName, schedulerName, serviceAccountName, imagePullSecrets,
// imagePullPolicy and resources (of "task"), as a pod has them:
//
//	environment:
//	  engines: [kubernetes:my-context/my-namespace]
//	  memory: 4GiB
//	  pod:
//	    nodeSelector: {pool: agents}
//	    tolerations: [{key: agents, operator: Exists}]
//	    imagePullSecrets: [{name: registry}]
//
// A pod reserves the memory that it may use, and a tenth of a processor, since an agent waits for
// its model most of the time; resources changes both.
//
// One setting is batch's own: helperImage names an image of batch (scripts/image builds it), from
// which pods take the helper, instead of from ConfigMaps. The cluster needs image volumes: Kubernetes
// 1.35, or 1.33 with the feature gate ImageVolume, and containerd 2.1 or CRI-O 1.31.
//
// agent.program.files has to name an image, which each pod mounts as an image volume. Batch refuses a
// cluster that does not know these.
//
// # Permissions
//
// This Role is enough; batch doctor --engine kubernetes checks it. The last rule is for clusters that
// refuse NET_ADMIN. With the permission to watch events, batch counts the time in which a node pulls
// an image as "pull" and not as "start". With the permission to list nodes (a ClusterRole), batch also
// knows how much room there is, and -w may be auto. The subject names the namespace of the pods, here
// default.
//
//	apiVersion: v1
//	kind: ServiceAccount
//	metadata: {name: batch}
//	---
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	metadata: {name: batch}
//	rules:
//	- {apiGroups: [""], resources: [pods], verbs: [create, get, list, watch, patch, delete]}
//	- {apiGroups: [""], resources: [pods/exec], verbs: [create, get]}
//	- {apiGroups: [""], resources: [configmaps], verbs: [create, get, list, delete]}
//	- {apiGroups: [""], resources: [events], verbs: [list, watch]}
//	- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [create, delete]}
//	---
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: RoleBinding
//	metadata: {name: batch}
//	roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: batch}
//	subjects: [{kind: ServiceAccount, name: batch, namespace: default}]
//
// Pod Security "baseline" accepts the pods where a NetworkPolicy isolates them; NET_ADMIN needs
// "privileged". The images of SWE-bench need root, so "restricted" is not possible.
//
// # The runner in the cluster
//
// A run can itself be a Job in the namespace of its pods, with its directory on a volume. It needs the
// objects above, a Secret with the key of the model, and an image that has batch and the dataset:
//
//	apiVersion: v1
//	kind: PersistentVolumeClaim
//	metadata: {name: runs}
//	spec:
//	  accessModes: [ReadWriteOncePod]
//	  resources: {requests: {storage: 50Gi}}
//	---
//	apiVersion: batch/v1
//	kind: Job
//	metadata: {name: batch-run}
//	spec:
//	  backoffLimit: 5
//	  podReplacementPolicy: Failed
//	  podFailurePolicy:
//	    rules:
//	    - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}
//	    - {action: FailJob, onExitCodes: {operator: In, values: [2]}}
//	  template:
//	    spec:
//	      serviceAccountName: batch
//	      restartPolicy: Never
//	      containers:
//	      - name: batch
//	        image: registry.example/batch:1
//	        command: [batch, run, --engine, kubernetes, --subset, /rows.jsonl, -m, openai/gpt-5, -w, "64", -o, /runs/one]
//	        envFrom: [{secretRef: {name: model-key}}]
//	        resources: {requests: {cpu: "1", memory: 2Gi}}
//	        volumeMounts: [{name: runs, mountPath: /runs}]
//	      volumes:
//	      - name: runs
//	        persistentVolumeClaim: {claimName: runs}
//
// When the runner's pod has ended before the run, whatever the reason, the Job starts another, which
// resumes the run and takes over the run's pods; commands in them continue meanwhile. SIGTERM therefore ends
// the runner at once, and leaves its pods. What cannot be taken over is replayed in new pods. An
// eviction does not count against backoffLimit, which limits how often instances without a result
// are tried again.
//
// The runner asks the cluster for its own pod, and marks it with a label, so that the next one knows that
// it has ended. Nothing but the Job's runners removes the pods of its run: batch clean and other runs
// leave them. When a person deletes the Job, the cluster deletes its pods. If the runner uses another
// cluster or namespace than its own, or its pod has no Job, SIGTERM saves the work and removes the pods,
// as anywhere. A runner's pod on a node that does not
// answer may live: the Job waits until Kubernetes knows that the node is gone, or a person deletes the
// pod by force.
//
// No two runners may use a directory at once. ReadWriteOncePod prevents it. With ReadWriteOnce, the
// directory's lock does. With ReadWriteMany it does if locks hold across nodes, as on NFS 4 and CephFS,
// and not on NFS with nolock or on object storage. Each Job needs a directory of its own.
//
// Its API is not promised to other programs: see package batch.
package kube
