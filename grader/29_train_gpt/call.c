// call.c: the launchers of lesson 29, called with the arguments of the case; `adamw` says which
// one. AdamW takes `steps` steps in a row, each with gradients of its own.
#include "run/run.h"

#include "train_gpt.h"

static struct train_gpt_block block(const char* const name[12]) {
    bf16* array[12];
    for (int i = 0; i < 12; i++) array[i] = run_gpu(name[i]);
    return (struct train_gpt_block){array[0], array[1], array[2], array[3], array[4],  array[5],
                                    array[6], array[7], array[8], array[9], array[10], array[11]};
}

static int call_block(void) {
    static const char* const of_W[12] = {"W_qkv", "W_proj",     "W_fc",  "W_out",
                                         "b_qkv", "b_proj",     "b_fc",  "b_out",
                                         "norm1", "norm1_bias", "norm2", "norm2_bias"};
    static const char* const of_dW[12] = {"dW_qkv", "dW_proj",     "dW_fc",  "dW_out",
                                          "db_qkv", "db_proj",     "db_fc",  "db_out",
                                          "dnorm1", "dnorm1_bias", "dnorm2", "dnorm2_bias"};
    const struct train_gpt_kept kept = {run_gpu("X"),      run_gpu("stats1"), run_gpu("QKV"),
                                        run_gpu("O"),      run_gpu("LSE"),    run_gpu("X_mid"),
                                        run_gpu("stats2"), run_gpu("Z")};
    return train_gpt_block(run_gpu("dX"), block(of_dW), block(of_W), kept, (int)run_int("B"),
                           (int)run_int("N"), (int)run_int("C"), (int)run_int("H"),
                           run_gpu("workspace"));
}

static int call_adamw(void) {
    const bf16* g = run_gpu("g");
    int status = 0;
    int64_t n = run_int("n"), step = run_int("step"), steps = run_int("steps");
    for (int64_t k = 0; k < steps && status == 0; k++)
        status = train_gpt_adamw(
            run_gpu("w"), run_gpu("m"), run_gpu("v"), run_gpu("w_bf16"), g ? g + k * n : NULL, n,
            run_int("n_decayed"), (float)run_real("lr"), (float)run_real("beta1"),
            (float)run_real("beta2"), (float)run_real("eps"), (float)run_real("decay"), step + k);
    return status;
}

int call(void) {
    return run_int("adamw") ? call_adamw() : call_block();
}
