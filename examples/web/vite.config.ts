import { defineConfig } from "vite";

// The page calls /agent at its own origin. During development, Vite passes these requests on to the gateway, with
// their `Host` as it is: the gateway compares it with the page's origin.
export default defineConfig({
  base: "./",
  server: { proxy: { "/agent": { target: "http://127.0.0.1:8000", changeOrigin: false } } },
});
