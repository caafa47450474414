/* test_redact.c - which texts are replaced by tokens, and which are not. */
#include <string.h>

#include "transform/redact_json.h"
#include "unit/test.h"

static kino__redactor redactor;
static kino__buffer shown;

static kino_str redact(kino__redact_as as, const char *text)
{
    shown.size = 0;
    (void)kino__redact_text(&redactor, as, kino__str_from(text), &shown);
    REQUIRE(!shown.failed);
    return kino__buffer_str(&shown);
}

/* The text with each token's digits as '#': "path_############.py". */
static kino_str shape(kino__redact_as as, const char *text)
{
    kino_str got = redact(as, text);
    for (size_t i = 0; i + 12 < got.size; i++) {
        size_t digits = 0;
        while (got.data[i] == '_' && digits < 12 && i + 1 + digits < got.size &&
               strchr("0123456789abcdef", got.data[i + 1 + digits]))
            digits++;
        if (digits == 12)
            memset(shown.data + i + 1, '#', 12);
    }
    return got;
}

static void start(void)
{
    kino__redactor_init(&redactor, NULL);
    kino__redactor_add_word(&redactor, KINO__STR("node7"), false);
    kino__redactor_learn_users(&redactor, KINO__STR("at /home/joe/x and C:\\Users\\Ann-B\\y"));
}

static void stop(void)
{
    CHECK(!redactor.failed);
    kino__redactor_deinit(&redactor);
    kino__buffer_deinit(&shown);
}

#define T "############"

TEST(redact_tokens_are_siphash_2_4)
{
    /* the vector of the paper: key 00 01 .. 0f, text 00 01 .. 0e, a129ca6149be45e5 */
    char text[15];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    kino__redactor r = {.key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u}};
    kino__buffer out = {0};
    kino__redact_token(&r, "x", (kino_str){text, sizeof text}, &out);
    CHECK_STR(kino__buffer_str(&out), "x_a129ca6149be");
    kino__buffer_deinit(&out);
}

TEST(redact_same_text_same_token_other_key_other_token)
{
    char first[64];
    start();
    kino_str token = redact(KINO__REDACT_VALUE, "secret");
    (void)snprintf(first, sizeof first, "%.*s", KINO__STR_ARG(token));
    CHECK_STR(redact(KINO__REDACT_VALUE, "secret"), first);
    CHECK(!kino__str_is(redact(KINO__REDACT_VALUE, "secret2"), first));
    stop();
    shown = (kino__buffer){0};
    kino__redactor_init(&redactor, "key");
    CHECK(!kino__str_is(redact(KINO__REDACT_VALUE, "secret"), first));
    stop();
}

TEST(redact_finds_paths_and_hosts_inside_texts)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"/home/x/train.py", "path_" T ".py"},
        {"see /home/x/train.py.", "see path_" T ".py."},
        {"open(~/data/a.bin)", "open(path_" T ".bin)"},
        {"../up/one", "path_" T},
        {"C:\\work\\a.cu failed", "path_" T ".cu failed"},
        {"https://example.org/a?b", "path_" T "?b"},
        {"a/b/c", "path_" T},
        {"csrc/kernel.cu:33", "path_" T ".cu:33"},
        {"train.py(3)", "path_" T ".py(3)"},
        {"10.1.2.3:29500", "host_" T ":29500"},
        {"joe@cluster", "host_" T},
        {"on NODE7-gpu", "on word_" T "-gpu"},
        {"by joe, for ann-b", "by word_" T ", for word_" T},
        /* what stays */
        {"GB/s", "GB/s"},
        {"N/A", "N/A"},
        {"1/2/3", "1/2/3"},
        {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"},
        {"void at::native::f<4, float>(int, float*)", "void at::native::f<4, float>(int, float*)"},
        {"node70 joey", "node70 joey"},
        {"2.26.2", "2.26.2"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(shape(KINO__REDACT_PARTS, cases[i].text), cases[i].want);
    stop();
}

TEST(redact_keeps_the_names_of_the_framework)
{
    static const struct {
        kino__redact_as as;
        const char *text, *want;
    } cases[] = {
        {KINO__REDACT_OP, "aten::mm", "aten::mm"},
        {KINO__REDACT_OP, "autograd::engine::evaluate_function: AddmmBackward0",
         "autograd::engine::evaluate_function: AddmmBackward0"},
        {KINO__REDACT_OP, "autograd::engine::evaluate_function: MyLossBackward",
         "autograd::engine::evaluate_function: op_" T},
        {KINO__REDACT_OP, "acme::secret", "op_" T},
        {KINO__REDACT_ANNOTATION, "ProfilerStep#12", "ProfilerStep#12"},
        {KINO__REDACT_ANNOTATION, "ProfilerStep#mine", "ProfilerStep#name_" T},
        {KINO__REDACT_ANNOTATION, "Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step"},
        {KINO__REDACT_ANNOTATION, "Optimizer.step#Shampoo.step", "Optimizer.step#name_" T},
        {KINO__REDACT_ANNOTATION, "## load prices ##", "annotation_" T},
        {KINO__REDACT_ANNOTATION, "[memory]", "[memory]"},
        {KINO__REDACT_NAME, "request", "name_" T},
        {KINO__REDACT_LABEL, "python3", "python3"},
        {KINO__REDACT_LABEL, "stream 7", "stream 7"},
        {KINO__REDACT_LABEL, "thread 12 (pt_autograd_0)", "thread 12 (pt_autograd_0)"},
        {KINO__REDACT_LABEL, "trading bot", "label_" T},
        {KINO__REDACT_VALUE, "12.5", "12.5"},
        {KINO__REDACT_VALUE, "0x1f", "0x1f"},
        {KINO__REDACT_VALUE, "true", "true"},
        {KINO__REDACT_VALUE, "10.1.2.3", "value_" T},
        {KINO__REDACT_FRAMES, "/a b/c.py(33): main", "path_" T ".py(33): fn_" T},
        {KINO__REDACT_FRAMES, "c.py(3): <module>;d.py(4): __init__",
         "path_" T ".py(3): <module>;path_" T ".py(4): __init__"},
        {KINO__REDACT_FRAMES, "nn.Module: Secret_3", "nn.Module: module_" T "_3"},
        {KINO__REDACT_FRAMES, "<built-in method linear>", "<built-in method linear>"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(shape(cases[i].as, cases[i].text), cases[i].want);
    stop();
}

static bool has(kino_str text, const char *part)
{
    return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

TEST(redact_json_changes_strings_by_their_key_and_leaves_the_rest)
{
    start();
    kino__buffer out = {0};
    kino__redact_json(
        &redactor, KINO__REDACT_JSON_ARGS, KINO__REDACT_VALUE, false,
        KINO__STR("{\"correlation\": 7, \"Input Dims\": [[2, 3]], \"note\": \"mine\", "
                  "\"Input type\": [\"float\", \"\\/etc\\/x\"], \"n\": {\"deep\": "
                  "[\"mine\", 1.50]}, \"/home/joe/k\": 1}"),
        &out);
    kino_str text = kino__buffer_str(&out);
    CHECK(has(text, "{\"correlation\": 7, \"Input Dims\": [[2, 3]], \"note\": \"value_"));
    CHECK(has(text, "[\"float\", \"path_"));
    CHECK(has(text, ", 1.50]}, \"path_"));
    CHECK(!has(text, "mine") && !has(text, "etc") && !has(text, "joe"));
    kino__buffer_deinit(&out);
    stop();
}

TEST(redact_json_lets_nothing_through_that_is_damaged)
{
    static const char *const texts[] = {"{\"a\": \"x \"mine\" y\", \"b\": mine}",
                                        "{\"a\": \"mine",
                                        "{\"a\": mine /home/mine",
                                        "\"mine\\",
                                        "{\"a\": \"\\u006dine\"}",
                                        "mine"};
    start();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kino__buffer out = {0};
        kino__redact_json(&redactor, KINO__REDACT_JSON_ARGS, KINO__REDACT_VALUE, false,
                          kino__str_from(texts[i]), &out);
        CHECK(!has(kino__buffer_str(&out), "mine"));
        CHECK(!has(kino__buffer_str(&out), "ine\""));
        kino__buffer_deinit(&out);
    }
    stop();
}
