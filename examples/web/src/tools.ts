import type { Tool } from "@ag-ui/client";
import type { PendingCall } from "../agui-reasoning";

/** The tools that this page offers to the model. */
export const TOOLS: Tool[] = [
  {
    name: "get_forecast",
    description: "Weather forecast of a place for the next hours",
    parameters: {
      type: "object",
      properties: { place: { type: "string" }, hours: { type: "integer" } },
      required: ["place"],
    },
  },
];

/** Runs a tool and returns its result for the model; a failed call is a result, too. */
export async function runTool(call: PendingCall): Promise<string> {
  try {
    const { place } = JSON.parse(call.function.arguments || "{}") as { place?: string };
    if (call.function.name !== "get_forecast") throw new Error(`unknown tool ${call.function.name}`);
    return `${place}: 9 °C, 4.2 mm of rain from 14:00, gusts of 14 m/s.`; // ask your weather service here
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : "the tool failed"}`;
  }
}
