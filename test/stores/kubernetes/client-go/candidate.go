// A candidate with client-go's own leader election, for the tests of mixed fleets. It prints a line of JSON for each thing that happens, with the time in milliseconds.
// On SIGTERM it gives the Lease back, as client-go does with ReleaseOnCancel.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func say(event string, who string) {
	fmt.Printf("{\"event\":%q,\"who\":%q,\"at\":%d}\n", event, who, time.Now().UnixMilli())
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file")
	namespace := flag.String("namespace", "", "of the Lease")
	name := flag.String("name", "", "of the Lease")
	identity := flag.String("identity", "go", "of this candidate")
	lease := flag.Duration("lease", 4*time.Second, "LeaseDuration")
	renew := flag.Duration("renew", 3*time.Second, "RenewDeadline")
	retry := flag.Duration("retry", 500*time.Millisecond, "RetryPeriod")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The API server of this repository speaks JSON only; client-go prefers protobuf since 0.32.
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"
	client := kubernetes.NewForConfigOrDie(config)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: *name, Namespace: *namespace},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		ReleaseOnCancel: true,
		LeaseDuration:   *lease,
		RenewDeadline:   *renew,
		RetryPeriod:     *retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say("elected", *identity) },
			OnStoppedLeading: func() { say("stopped", *identity) },
			OnNewLeader:      func(leader string) { say("leader", leader) },
		},
	})
}
