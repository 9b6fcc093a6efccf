export HF_TOKEN=hf_abcdefghijklmnop
docker run --rm --gpus all -p 8000:8000 \
  -e VLLM_USE_V2_MODEL_RUNNER=1 -e VLLM_API_KEY=not-for-print \
  vllm/vllm-openai:v0.26.0 --model Qwen/Qwen3.6-27B-FP8 --block-size 32 --enable-prefix-caching \
  --speculative-config.method dflash --speculative-config.model z-lab/Qwen3.6-27B-DFlash@0919688658996800f86b895034249700e9481106 \
  --speculative-config.num_speculative_tokens=15 --api-key also-not-for-print
