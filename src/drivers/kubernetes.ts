// The record of the Kubernetes driver. In place of a schema it prints the manifest of the rights that candidates need.
import type { Driver } from "./driver.ts";

export const kubernetesDriver: Driver = {
  name: "kubernetes",
  schemes: ["kubernetes"],
  server: "kubernetes",
  promises: async () => [
    { title: "`kubernetes:`", guarantee: (await import("../stores/kubernetes/guarantee.ts")).KUBERNETES },
  ],
  addresses: async (url) => [(await import("../stores/kubernetes.ts")).kubernetesAddress(url)],
  open: async (url) => (await import("../stores/kubernetes.ts")).kubernetes(url),
  schema: async ({ namespace, role }) => {
    const { kubernetesManifest } = await import("../stores/kubernetes.ts");
    return kubernetesManifest({ namespace, serviceAccount: role });
  },
};
